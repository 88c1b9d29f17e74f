"""The durable store in PostgreSQL (extra `postgres`): any service on the database finds what another stored.

Write-behind like the one in SQLite; what one process has put and not flushed, the others do not see yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from agent_core.errors import StateError
from agent_core.postgres import Connection, Database, DatabaseError, plain, shown
from agent_core.responses_server.conversation.sealing import new_secret
from agent_core.responses_server.store.port import StoredResponse, require_chain
from agent_core.responses_server.store.write_behind import RETENTION_S, WriteBehind, stored
from agent_core.responses_server.tables import MIGRATIONS, SCHEMA

T = TypeVar("T")

THREADS = 4


class PostgresStore(WriteBehind):
    """`now_s`: Unix seconds, for the retention, which runs when it opens."""

    def __init__(self, url: str, now_s: int) -> None:
        super().__init__()
        self._url, self._now_s, self._place = url, now_s, shown(url)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="store")
        self._opened: Database | None = None

    async def open(self) -> None:
        """Raises `AuthError`, `ServiceUnreachable`, `StateError`."""
        self._opened = await self._run(self._open)

    @property
    def _database(self) -> Database:
        if self._opened is None:
            raise StateError("the response store is not open", code="state_store")
        return self._opened

    async def _find(self, response_id: str) -> StoredResponse | None:
        return await self._ask(lambda db: _select(db, response_id))

    async def _find_chain(self, response_id: str, newer: int) -> list[StoredResponse]:
        return await self._ask(lambda db: _select_chain(db, response_id, newer))

    async def _remove(self, response_id: str) -> bool:
        sql = "DELETE FROM response WHERE id = %s"
        return await self._ask(lambda db: db.execute(sql, (plain(response_id),)).rowcount > 0)

    async def _write(self, records: Sequence[StoredResponse]) -> None:
        await self._ask(lambda db: _insert(db, records))

    async def secret(self) -> bytes:
        return await self._ask(_secret)

    async def close(self) -> None:
        try:
            if self._opened is not None:
                await self.flush()
        finally:
            if self._opened is not None:
                await self._run(self._opened.close)
            self._threads.shutdown(wait=True)

    def _open(self) -> Database:
        database = Database(self._url, SCHEMA)
        try:
            database.migrate(MIGRATIONS)
            with database.changing() as db:
                db.execute("DELETE FROM response WHERE created_at < %s", (self._now_s - RETENTION_S,))
        except BaseException:
            database.close()
            raise
        return database

    async def _ask(self, question: Callable[[Connection], T]) -> T:
        """In one transaction."""
        database = self._database

        def work() -> T:
            with database.changing() as db:
                return question(db)

        return await self._run(work)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StateError(
                f"{self._place}: a stored response is damaged; send the whole input instead", code="state_store"
            ) from error
        except DatabaseError as error:
            raise StateError(f"the response store failed: {error.message}", code="state_store") from None


def _select(db: Connection, response_id: str) -> StoredResponse | None:
    row = db.execute(
        "SELECT id, parent, created_at, input, output, response, owner FROM response WHERE id = %s",
        (plain(response_id),),
    ).fetchone()
    return None if row is None else stored(*row)


_ANCESTORS = """
WITH RECURSIVE chain (id, depth) AS (
    VALUES (%s::text, 0)
    UNION ALL
    SELECT response.parent, chain.depth + 1 FROM response JOIN chain ON response.id = chain.id
    WHERE response.parent IS NOT NULL
)
"""
_SIZE = f"""{_ANCESTORS}
SELECT coalesce(sum(length(input) + length(output)), 0) FROM chain JOIN response ON response.id = chain.id
"""
_CHAIN = f"""{_ANCESTORS}
SELECT response.id, parent, created_at, input, output, ''::bytea, owner
FROM chain JOIN response ON response.id = chain.id ORDER BY depth DESC
"""


def _select_chain(db: Connection, response_id: str, newer: int) -> list[StoredResponse]:
    """Oldest first, without their `response`, from the first ancestor on that is there. `newer`: bytes of the rest."""
    row = db.execute(_SIZE, (plain(response_id),)).fetchone()
    require_chain(newer + (int(row[0]) if row is not None else 0))
    return [stored(*each) for each in db.execute(_CHAIN, (plain(response_id),))]


def _insert(db: Connection, records: Sequence[StoredResponse]) -> None:
    with db.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO response (id, parent, created_at, owner, input, output, response)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET"
            " (parent, created_at, owner, input, output, response) = (excluded.parent, excluded.created_at,"
            " excluded.owner, excluded.input, excluded.output, excluded.response)",
            [
                (
                    plain(record.id),
                    record.parent,
                    record.created_at,
                    plain(record.owner),
                    msgspec.json.encode(record.input),
                    msgspec.json.encode(record.output),
                    record.response,
                )
                for record in records
            ],
        )


def _secret(db: Connection) -> bytes:
    """The one secret of the database, whoever made it first."""
    db.execute("INSERT INTO secret VALUES (1, %s) ON CONFLICT DO NOTHING", (new_secret(),))
    row = db.execute("SELECT value FROM secret").fetchone()
    assert row is not None
    return bytes(row[0])
