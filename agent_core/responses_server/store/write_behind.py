"""What durable stores have in common: a response that was put is seen at once and written later, in batches."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from agent_core.responses_server.store.port import StoredResponse, bytes_of, require_chain

RETENTION_S = 30 * 24 * 3600
"""Responses older than this are deleted when a store opens (the vendor's own retention)."""

_items = msgspec.json.Decoder(tuple[msgspec.Raw, ...])


class WriteBehind(ABC):
    """Implements those methods of `ResponseStore` that concern responses. Owns what is not durable yet.

    A store says how it reads, writes and removes what is durable; each of these raises StateError if that fails.
    """

    def __init__(self) -> None:
        self._pending: dict[str, StoredResponse] = {}
        """Not durable yet."""
        self._unwritten: dict[str, StoredResponse] = {}
        """Those of them that no `flush` has taken up."""
        self._writing = asyncio.Lock()

    @abstractmethod
    async def _find(self, response_id: str) -> StoredResponse | None: ...

    @abstractmethod
    async def _find_chain(self, response_id: str, newer: int) -> list[StoredResponse]:
        """The response and its ancestors, oldest first and without their `response`, from the first on that is there.
        `newer`: bytes of what follows them. Raises ServiceError as `require_chain` does, before they are read."""

    @abstractmethod
    async def _remove(self, response_id: str) -> bool:
        """Whether there was such a response."""

    @abstractmethod
    async def _write(self, records: Sequence[StoredResponse]) -> None: ...

    @property
    def unwritten(self) -> int:
        """Responses that are not durable yet."""
        return len(self._pending)

    def put(self, record: StoredResponse) -> None:
        self._pending[record.id] = self._unwritten[record.id] = record

    async def get(self, response_id: str) -> StoredResponse | None:
        return self._pending.get(response_id) or await self._find(response_id)

    async def chain(self, response_id: str) -> list[StoredResponse] | None:
        """One question for all that is durable, however long the chain is."""
        newest: list[StoredResponse] = []
        wanted: str | None = response_id
        size = 0
        while wanted is not None and (pending := self._pending.get(wanted)) is not None:
            newest.append(pending)
            size += bytes_of(pending)
            require_chain(size)
            wanted = pending.parent
        older: list[StoredResponse] = []
        if wanted is not None:
            older = await self._find_chain(wanted, size)
            if not older or older[0].parent is not None:
                return None
        return [*older, *reversed(newest)]

    async def delete(self, response_id: str) -> bool:
        pending = self._pending.pop(response_id, None) is not None
        self._unwritten.pop(response_id, None)
        return await self._remove(response_id) or pending

    async def flush(self) -> None:
        if not self._pending:
            return
        async with self._writing:  # who finds nothing left to take up waits until what others took is written
            records, self._unwritten = list(self._unwritten.values()), {}
            if not records:
                return
            try:
                await self._write(records)
            finally:
                for record in records:
                    if self._pending.get(record.id) is record:
                        del self._pending[record.id]


def stored(
    id: str, parent: str | None, created_at: int, input: bytes, output: bytes, response: bytes, owner: str
) -> StoredResponse:
    """A record of its columns. Raises msgspec.MsgspecError for items that are damaged."""
    return StoredResponse(
        id=id,
        parent=parent,
        created_at=created_at,
        input=_items.decode(input),
        output=_items.decode(output),
        response=response,
        owner=owner,
    )
