"""The way to disk: gathers what was folded, writes it in units from one thread, and tells who waits when it is durable.

What was folded once stays here until it is written, however often that fails; only then may an agent be told that its
events are kept. Owned by the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from dashboard.hub.sources.state import Changes
from dashboard.hub.store.port import Store, StoreError
from dashboard.hub.store.records import Cell, CellKey, Claim, EventRow, Flush, SourceRecord
from dashboard.hub.tasks import owned

log = logging.getLogger(__name__)

GATHER_S = 0.02
"""Pause before a write, so that what comes together is one transaction."""
RETRY_S = 1.0
MAX_WAITING_EVENTS = 30_000
MAX_WAITING_BYTES = 32 << 20


class Moved(StoreError):
    """Another hub wrote to the source meanwhile: what was folded here is void; read the source anew and fold again."""

    code = "store_busy"


class Writing:
    """`add` what a slice of events gave, `until_durable` before acknowledging it."""

    def __init__(
        self,
        store: Store,
        on_taken: Callable[[Flush], None],
        on_written: Callable[[Flush, dict[str, int]], None],
        on_moved: Callable[[set[str], list[Claim]], None] = lambda sources, claims: None,
    ) -> None:
        """`on_taken` is called with each unit once, before it is written (of a shared store: with what was written);
        `on_written` with the unit and the positions reached; `on_moved` with the sources that another hub wrote
        meanwhile, and the claims that are void with them."""
        self._store, self._on_taken, self._on_written, self._on_moved = store, on_taken, on_written, on_moved
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hub-writer")
        self._pending = Flush()
        self._failed: Flush | None = None
        self._wake, self._stopping = asyncio.Event(), asyncio.Event()
        self._attempt: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self.durable: dict[str, int] = {}
        """Last durable sequence by source."""
        self.moves: Counter[str] = Counter()
        """How often something of a source was void."""
        self.waiting_events = 0
        self.waiting_bytes = 0
        self.written = 0
        """Units written."""
        self.failures = 0
        self.last_error: StoreError | None = None
        """Of the last attempt; None if it succeeded."""

    @property
    def behind(self) -> bool:
        """Whether so much waits that no more should be taken."""
        return self.waiting_events > MAX_WAITING_EVENTS or self.waiting_bytes > MAX_WAITING_BYTES

    def start(self) -> None:
        self._task = owned(self._run(), "hub-writing")

    async def stop(self, timeout_s: float = 5.0) -> None:
        """Write what waits, then end; what is not written after `timeout_s` seconds the agents send again.

        A write that runs is never given up half-way: writing its unit anew would count it twice.
        """
        self._stopping.set()
        self._wake.set()
        if self._task is not None:
            _, late = await asyncio.wait([self._task], timeout=timeout_s)
            if late:
                log.warning("the hub's store did not take what was left; agents will send it again")
                self._task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def cell(self, key: CellKey) -> Cell:
        """A minute's cell of the next unit. What is added to it must be followed by `add` before anything else runs."""
        return self._pending.cells.setdefault(key, Cell())

    def add(self, source: SourceRecord, rows: list[EventRow], changes: Changes) -> None:
        """Put the outcome of some events of `source` into the next unit, with the sequence they reach, and stamp it."""
        pending = self._pending
        pending.events += rows
        pending.findings += changes.findings
        pending.bases.setdefault(source.source, source.stamp)
        source.stamp = pending.stamp
        pending.sources[source.source] = msgspec.structs.replace(source)
        for claim in changes.claims:
            pending.claims.setdefault((claim.team, claim.name), claim)
        for turn in changes.turns.values():
            pending.turns[(turn.team, turn.turn)] = turn
        self.waiting_events += len(rows)
        self.waiting_bytes += sum(len(row.body) for row in rows)
        self._wake.set()

    async def until_durable(self, source: str, seq: int, timeout_s: float, moves: int | None = None) -> None:
        """Wait until `seq` of `source` is durable. Raises `StoreError` as soon as an attempt fails, or after
        `timeout_s` seconds; `Moved` if what `moves` (of the source) was is not so any more."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    if moves is not None and self.moves[source] != moves:
                        raise Moved("another hub wrote to this source")
                    if self.durable.get(source, 0) >= seq:
                        return
                    error = await asyncio.shield(self._attempt)
                    if error is not None and self.durable.get(source, 0) < seq:
                        raise error
        except TimeoutError:
            raise StoreError("the hub's store is too slow", code="store_busy") from None

    async def wait_written(self, since: int, timeout_s: float) -> None:
        """Wait until more units are written than `since`, or for `timeout_s` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.written == since:
                    await asyncio.shield(self._attempt)

    async def _run(self) -> None:
        while True:
            if self._failed is None and not self._pending:
                if self._stopping.is_set():
                    return
                self._wake.clear()
                await self._wake.wait()
                await asyncio.sleep(GATHER_S)
            elif await self._write_once() is not None:
                if self._stopping.is_set():
                    return
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S):
                        await self._stopping.wait()

    async def _write_once(self) -> StoreError | None:
        flush = self._failed
        if flush is None:
            flush, self._pending = self._pending, Flush()
            if not self._store.shared:
                self._on_taken(flush)
        self._failed = flush
        error: StoreError | None = None
        try:
            positions = await asyncio.get_running_loop().run_in_executor(self._thread, self._store.write, flush)
        except StoreError as failure:
            error = failure
            self.failures += 1
            if self.last_error is None:
                log.error("the hub can't write, agents are asked to wait: %s", failure.message)
        else:
            self._failed = None
            self.written += 1
            self.waiting_events -= len(flush.events)
            self.waiting_bytes -= sum(len(row.body) for row in flush.events)
            for source in flush.sources.values():
                if source.source not in flush.moved:
                    self.durable[source.source] = source.seq
            if self.last_error is not None:
                log.warning("the hub can write again")
            if flush.moved:
                self._void(flush)
            if self._store.shared:
                self._on_taken(flush)
            self._on_written(flush, positions)
        self.last_error = error
        attempt, self._attempt = self._attempt, asyncio.get_running_loop().create_future()
        attempt.set_result(error)
        return error

    def _void(self, flush: Flush) -> None:
        """Forget what was folded of sources that moved: in this unit, and in the one that is gathered."""
        moved, pending = flush.moved, self._pending
        claims = [claim for unit in (flush, pending) for claim in unit.claims.values() if claim.source in moved]
        void = [row for row in pending.events if row.source in moved]
        self.waiting_events -= len(void)
        self.waiting_bytes -= sum(len(row.body) for row in void)
        for unit in (flush, pending):
            unit.events = [row for row in unit.events if row.source not in moved]
            unit.findings = [one for one in unit.findings if one.source not in moved]
            unit.turns = {key: one for key, one in unit.turns.items() if one.source not in moved}
            unit.cells = {key: cell for key, cell in unit.cells.items() if key.source not in moved}
            unit.claims = {key: one for key, one in unit.claims.items() if one.source not in moved}
            for source in moved:
                unit.sources.pop(source, None)
                unit.bases.pop(source, None)
        self.moves.update(moved)
        self._on_moved(set(moved), claims)
