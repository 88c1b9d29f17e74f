"""Durable responses for `store: true`: the port, and the store that keeps them in memory.

A record holds what is new in its call and the id of its parent, so a chain of n calls costs n records and no copies.
`put` is seen by `get` at once and becomes durable with `flush`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

import msgspec

MEMORY_RECORDS = 10_000


class StoredResponse(msgspec.Struct, frozen=True, kw_only=True):
    """One response. `parent` None: `input` is its whole context. `created_at`: Unix seconds. `response`: its JSON.

    `owner`: name of the API key it was made with; nobody else sees it.
    """

    id: str
    parent: str | None
    created_at: int
    input: tuple[msgspec.Raw, ...]
    output: tuple[msgspec.Raw, ...]
    response: bytes
    owner: str = ""


class ResponseStore(Protocol):
    async def open(self) -> None:
        """Called once before anything else. Raises StateError if the store can't be used."""

    def put(self, record: StoredResponse) -> None: ...

    async def get(self, response_id: str) -> StoredResponse | None: ...

    async def chain(self, response_id: str) -> list[StoredResponse] | None:
        """The response and its ancestors, oldest first; None if it or one of them is not there.

        They may come without their `response`, which is b"" then: who goes on from them needs the items only.
        """

    async def delete(self, response_id: str) -> bool:
        """Whether there was such a response."""

    async def flush(self) -> None:
        """Make everything put so far durable. Raises StateError if that fails; what could not be written is dropped."""

    async def close(self) -> None: ...


class MemoryStore:
    """Keeps the latest `limit` responses; nothing survives the process."""

    def __init__(self, limit: int = MEMORY_RECORDS) -> None:
        self._limit = limit
        self._records: OrderedDict[str, StoredResponse] = OrderedDict()

    async def open(self) -> None:
        return

    def put(self, record: StoredResponse) -> None:
        self._records[record.id] = record
        if len(self._records) > self._limit:
            self._records.popitem(last=False)

    async def get(self, response_id: str) -> StoredResponse | None:
        return self._records.get(response_id)

    async def chain(self, response_id: str) -> list[StoredResponse] | None:
        found: list[StoredResponse] = []
        wanted: str | None = response_id
        while wanted is not None:
            record = self._records.get(wanted)
            if record is None:
                return None
            found.append(record)
            wanted = record.parent
        found.reverse()
        return found

    async def delete(self, response_id: str) -> bool:
        return self._records.pop(response_id, None) is not None

    async def flush(self) -> None:
        return

    async def close(self) -> None:
        self._records.clear()


async def read_record(store: ResponseStore, response_id: str, owner: str) -> StoredResponse | None:
    """The response, None if it is not there or is someone else's."""
    record = await store.get(response_id)
    return record if record is not None and record.owner == owner else None


async def read_chain(store: ResponseStore, response_id: str, owner: str) -> list[StoredResponse] | None:
    """The response and its ancestors, oldest first; None if it or one of them is not there for this owner.

    Their `response` may be b"".
    """
    chain = await store.chain(response_id)
    return chain if chain is not None and all(record.owner == owner for record in chain) else None
