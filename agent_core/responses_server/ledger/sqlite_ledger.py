"""The ledger on disk: intents in files of their own, closed entries in SQLite, written in groups by one thread.

A settled entry is committed within about `GATHER_S`; the thread waits that long for others, so that a commit costs the
next request nothing. Killed in between, a response is reported as unsettled although its client saw its end: the ledger
may be too careful, never silent.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from agent_core.clock import Clock
from agent_core.errors import StateError
from agent_core.responses_server.ledger import rows
from agent_core.responses_server.ledger.intents import IntentLog, left_behind
from agent_core.responses_server.ledger.port import Account, Intent, Total
from agent_core.salvage import mend

log = logging.getLogger(__name__)
T = TypeVar("T")

GATHER_S: Final = 0.05
"""How long settled entries wait for others, to be committed together."""


class SqliteLedger:
    """`path` is the database; the intents lie in a folder beside it. `process`: unique name of this process."""

    def __init__(self, path: Path, process: str, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._intents = IntentLog(path.with_suffix(".intents"), process)
        self._settled: deque[Account] = deque()
        self._flushes: deque[Future[None]] = deque()
        self._wanted, self._hurry = threading.Event(), threading.Event()
        self._stopping = False
        self._database: sqlite3.Connection | None = None
        self._writer = threading.Thread(target=self._write, name="ledger", daemon=True)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="ledger-read")
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def pending(self) -> int:
        return self._intents.pending

    async def open(self) -> list[Intent]:
        self._loop = asyncio.get_running_loop()
        found = await self._read(self._reconcile)
        self._writer.start()
        return found

    def admit(self, intent: Intent) -> None:
        self._intents.append(intent)

    def settle(self, account: Account) -> None:
        self._settled.append(account)
        if not self._wanted.is_set():
            self._wanted.set()

    async def flush(self) -> None:
        if not self._writer.is_alive():
            return
        done: Future[None] = Future()
        self._flushes.append(done)
        self._wake()
        await asyncio.wrap_future(done)

    async def find(self, response_id: str) -> Account | None:
        return await self._look(lambda database: rows.select(database, response_id))

    async def totals(self) -> dict[str, Total]:
        return await self._look(rows.totals)

    async def close(self) -> None:
        try:
            await self.flush()
        finally:
            self._stopping = True
            self._wake()
            if self._writer.is_alive():
                await asyncio.to_thread(self._writer.join)
            # What the writer's last commits told the loop is to be heard before the files are judged.
            await asyncio.sleep(0)
            self._intents.close()
            if self._database is not None:
                self._database.close()
            self._reader.shutdown(wait=True)

    def _wake(self) -> None:
        self._hurry.set()
        self._wanted.set()

    async def _look(self, query: Callable[[sqlite3.Connection], T]) -> T:
        def work() -> T:
            with closing(rows.connect(self._path)) as database:
                return query(database)

        return await self._read(work)

    async def _read(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._reader, work)
        except (sqlite3.Error, OSError) as error:
            raise _failed(self._path, error) from error

    def _reconcile(self) -> list[Intent]:
        """Open the database and close what killed processes left, which is returned."""
        now_us = self._clock.wall_ns() // 1000
        self._path.parent.mkdir(parents=True, exist_ok=True)
        mend(self._path, rows.make)
        self._path.touch(mode=0o600, exist_ok=True)
        database = self._database = rows.connect(self._path)
        rows.prepare(database, now_us)
        found: list[Intent] = []
        for file in left_behind(self._path.with_suffix(".intents")):
            open_ones = [intent for intent in file.intents if rows.select(database, intent.response_id) is None]
            rows.insert(database, [Account(intent=each, closed_us=now_us, state="unsettled") for each in open_ones])
            file.delete()
            found += open_ones
        return found

    # The writing thread

    def _write(self) -> None:
        while not self._stopping:
            self._wanted.wait()
            self._hurry.wait(GATHER_S)
            self._wanted.clear()
            self._hurry.clear()
            flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
            failure = self._commit([self._settled.popleft() for _ in range(len(self._settled))])
            for done in flushes:
                if failure is None:
                    done.set_result(None)
                else:
                    done.set_exception(failure)

    def _commit(self, batch: Sequence[Account]) -> StateError | None:
        """Why it failed, None if it did not. What could not be written goes with the next batch."""
        if not batch or self._database is None:
            return None
        try:
            rows.insert(self._database, batch)
        except sqlite3.Error as error:
            log.error("%d settled responses could not be written to the ledger: %s", len(batch), type(error).__name__)
            self._settled.extendleft(reversed(batch))
            return _failed(self._path, error)
        ids = [account.intent.response_id for account in batch]
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._intents.settled, ids)
        return None


def _failed(path: Path, error: Exception) -> StateError:
    return StateError(f"{path}: the ledger failed: {error}", code="state_ledger")
