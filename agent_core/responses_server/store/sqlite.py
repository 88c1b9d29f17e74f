"""The durable store in SQLite: write-behind, one thread, one file that only its owner may read."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import msgspec

from agent_core.errors import StateError
from agent_core.responses_server.conversation.sealing import new_secret
from agent_core.responses_server.store.port import StoredResponse, require_chain
from agent_core.responses_server.store.write_behind import RETENTION_S, WriteBehind, stored
from agent_core.salvage import lenient_text, mend

T = TypeVar("T")

_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS responses (
    id TEXT PRIMARY KEY,
    parent TEXT,
    created_at INTEGER NOT NULL,
    input BLOB NOT NULL,
    output BLOB NOT NULL,
    response BLOB NOT NULL,
    owner TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS responses_created ON responses (created_at);
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), value BLOB NOT NULL);
"""


class SqliteStore(WriteBehind):
    """Other processes may use the same file. `now_s`: Unix seconds, for the retention."""

    def __init__(self, path: Path, now_s: int) -> None:
        super().__init__()
        self._path, self._now_s = path, now_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._opened: sqlite3.Connection | None = None

    async def open(self) -> None:
        try:
            self._opened = await self._run(lambda: _open(self._path, self._now_s))
        except OSError as error:
            raise StateError(f"{self._path}: can't be opened: {error.strerror}", code="state_store") from error

    @property
    def _database(self) -> sqlite3.Connection:
        if self._opened is None:
            raise StateError("the response store is not open", code="state_store")
        return self._opened

    async def _find(self, response_id: str) -> StoredResponse | None:
        return await self._run(lambda: _select(self._database, response_id))

    async def _find_chain(self, response_id: str, newer: int) -> list[StoredResponse]:
        return await self._run(lambda: _select_chain(self._database, response_id, newer))

    async def _remove(self, response_id: str) -> bool:
        return await self._run(lambda: _delete(self._database, response_id))

    async def _write(self, records: Sequence[StoredResponse]) -> None:
        await self._run(lambda: _insert(self._database, records))

    async def secret(self) -> bytes:
        return await self._run(lambda: _secret(self._database))

    async def close(self) -> None:
        try:
            if self._opened is not None:
                await self.flush()
        finally:
            if self._opened is not None:
                await self._run(self._opened.close)
            self._thread.shutdown(wait=True)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StateError(
                f"{self._path}: a stored response is damaged; send the whole input instead", code="state_store"
            ) from error
        except sqlite3.Error as error:
            raise StateError(f"{self._path}: the response store failed: {error}", code="state_store") from error


def _open(path: Path, now_s: int) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    mend(path, _prepare)
    path.touch(mode=0o600, exist_ok=True)
    database = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
    database.text_factory = lenient_text
    database.executescript(_SCHEMA)
    if "owner" not in {row[1] for row in database.execute("PRAGMA table_info(responses)")}:
        database.execute("ALTER TABLE responses ADD COLUMN owner TEXT NOT NULL DEFAULT ''")
    with database:
        database.execute("DELETE FROM responses WHERE created_at < ?", (now_s - RETENTION_S,))
    return database


def _prepare(path: Path) -> None:
    """A fresh file with its tables."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_SCHEMA)


def _select(database: sqlite3.Connection, response_id: str) -> StoredResponse | None:
    query = "SELECT id, parent, created_at, input, output, response, owner FROM responses WHERE id = ?"
    row = database.execute(query, (response_id,)).fetchone()
    return None if row is None else stored(*row)


_ANCESTORS = """
WITH RECURSIVE chain (id, depth) AS (
    VALUES (?, 0)
    UNION ALL
    SELECT responses.parent, chain.depth + 1 FROM responses JOIN chain ON responses.id = chain.id
    WHERE responses.parent IS NOT NULL
)
"""
_SIZE = f"""{_ANCESTORS}
SELECT coalesce(sum(length(input) + length(output)), 0) FROM chain JOIN responses ON responses.id = chain.id
"""
_CHAIN = f"""{_ANCESTORS}
SELECT responses.id, parent, created_at, input, output, X'', owner
FROM chain JOIN responses ON responses.id = chain.id ORDER BY depth DESC
"""


def _select_chain(database: sqlite3.Connection, response_id: str, newer: int) -> list[StoredResponse]:
    """Oldest first, without their `response`; from the first ancestor on that is there. `newer`: bytes of what follows.

    Lengths are asked first: SQLite has them without reading the values.
    """
    require_chain(newer + database.execute(_SIZE, (response_id,)).fetchone()[0])
    return [stored(*row) for row in database.execute(_CHAIN, (response_id,))]


def _insert(database: sqlite3.Connection, records: Sequence[StoredResponse]) -> None:
    rows = [
        (
            record.id,
            record.parent,
            record.created_at,
            msgspec.json.encode(record.input),
            msgspec.json.encode(record.output),
            record.response,
            record.owner,
        )
        for record in records
    ]
    with database:
        database.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _secret(database: sqlite3.Connection) -> bytes:
    """The one secret of the file, whoever made it first."""
    with database:
        database.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (new_secret(),))
    value: bytes = database.execute("SELECT value FROM secret").fetchone()[0]
    return value


def _delete(database: sqlite3.Connection, response_id: str) -> bool:
    with database:
        return database.execute("DELETE FROM responses WHERE id = ?", (response_id,)).rowcount > 0
