"""Durable responses for `store: true`: the port, and the store that keeps them in memory.

A record holds what is new in its call and the id of its parent, so a chain of n calls costs n records and no copies.
`put` is seen by `get` at once and becomes durable with `flush`.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from agent_core.errors import ServiceError, StateError
from agent_core.responses_server.conversation.sealing import SECRET_BYTES, new_secret

MEMORY_RECORDS = 10_000
MAX_CHAIN_BYTES = 256 * 1024 * 1024
"""Of the items of a response and its ancestors together: they are read as a whole."""


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

        Raises ServiceError `context_length_exceeded` above MAX_CHAIN_BYTES, before they are read. They may come
        without their `response`, which is b"" then: who goes on from them needs the items only.
        """

    async def delete(self, response_id: str) -> bool:
        """Whether there was such a response."""

    async def flush(self) -> None:
        """Make everything put so far durable. Raises StateError if that fails; what could not be written is dropped."""

    async def secret(self) -> bytes:
        """32 random bytes that go with the store: the same for all who share it, for as long as it lasts.

        Raises StateError.
        """

    async def close(self) -> None: ...


class MemoryStore:
    """Keeps the latest `limit` responses; nothing of them survives the process.

    `secret_file`: where its secret is kept; None: that does not survive either.
    """

    def __init__(self, limit: int = MEMORY_RECORDS, secret_file: Path | None = None) -> None:
        self._limit, self._secret_file = limit, secret_file
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
        size = 0
        while wanted is not None:
            record = self._records.get(wanted)
            if record is None:
                return None
            found.append(record)
            size += bytes_of(record)
            require_chain(size)
            wanted = record.parent
        found.reverse()
        return found

    async def delete(self, response_id: str) -> bool:
        return self._records.pop(response_id, None) is not None

    async def flush(self) -> None:
        return

    async def secret(self) -> bytes:
        if self._secret_file is None:
            return new_secret()
        try:
            return await asyncio.to_thread(kept_secret, self._secret_file)
        except OSError as error:
            message = f"{self._secret_file}: can't be used: {error.strerror}"
            raise StateError(message, code="state_store") from error

    async def close(self) -> None:
        self._records.clear()


def bytes_of(record: StoredResponse) -> int:
    """Of its items."""
    return sum(map(len, record.input)) + sum(map(len, record.output))


def require_chain(size: int) -> None:
    """Raises ServiceError for a chain whose items have so many bytes that it can't be read as a whole."""
    if size > MAX_CHAIN_BYTES:
        raise ServiceError(
            f"This response and what it goes on from hold more than {MAX_CHAIN_BYTES} bytes; send the input that still "
            "counts instead.",
            code="context_length_exceeded",
            status=400,
            param="previous_response_id",
        )


def kept_secret(path: Path) -> bytes:
    """The secret in a file that only its owner may read, made if it is not there. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with suppress(FileNotFoundError):
            found = path.read_bytes()
            if len(found) == SECRET_BYTES:
                return found
        private = path.with_name(f"{path.name}.{os.getpid()}.new")
        private.unlink(missing_ok=True)
        private.touch(mode=0o600, exist_ok=False)
        private.write_bytes(new_secret())
        try:
            if path.exists():
                private.replace(path)  # damaged: what it sealed is lost
            else:
                os.link(private, path)
        except FileExistsError:
            continue  # another process was quicker
        finally:
            private.unlink(missing_ok=True)


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
