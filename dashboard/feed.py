"""Where a dashboard's events come from: the journals of this machine as they grow, or one file played again.

Reading is read-only and by cursor. Blocking work runs in a thread; what a reader gets is batches it can fold in
slices. Consume `batches()` under `contextlib.aclosing`, so that files are closed when the reader stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Protocol

import msgspec
from watchfiles import awatch

from agent_core.clock import Clock, SystemClock
from agent_core.errors import StateError
from agent_core.telemetry.events import Event, TurnFinished, TurnStarted
from agent_core.telemetry.journal.layout import is_alive, journal_dir
from agent_core.telemetry.journal.reader import Cursor, read_journal, read_ndjson
from agent_core.telemetry.journal.reader import Feed as JournalReader
from agent_core.telemetry.rollup.axis import parse_time_ns
from agent_core.telemetry.rollup.running import Running

log = logging.getLogger(__name__)

BATCH = 2_000
"""Events read in one go; about 10 ms of a thread."""
LOOK_AGAIN_S = 1.0
"""Longest time between two looks at the journals: what no file change tells, such as a process that was killed."""
GATHER_S = 0.05
"""Pause after a change, so that a burst of writes is one look."""
UNWATCHED_S = 0.25
"""Time between two looks where the folder can't be watched."""
IDLE_GAP_NS = 5_000_000_000
"""A replay skips longer stretches in which no turn runs."""
_SQLITE = b"SQLite format 3\0"


class Batch(msgspec.Struct):
    """Events in order, and the sources that are gone for good after them."""

    events: list[Event]
    ended: list[str] = []


class EventFeed(Protocol):
    """What a dashboard follows."""

    @property
    def notices(self) -> list[str]:
        """One line for each thing that could not be read, in the order found."""

    def now_ns(self) -> int:
        """The instant that counts as now: nanoseconds since the Unix epoch. Replays have their own."""

    def batches(self) -> AsyncGenerator[Batch, None]:
        """Batches as they come. Ends when there is nothing more to come, as at the end of a replay."""

    def history(self) -> Iterator[Event]:
        """Everything from the start again, read anew; blocks, so use it in a thread."""


class JournalFollower:
    """Follows the journals of a state directory; there need be none yet."""

    def __init__(
        self, state_dir: Path, *, since: str = "", cursor: Cursor | None = None, clock: Clock | None = None
    ) -> None:
        """Starts with the files of the day `since` (YYYY-MM-DD, UTC; "" = all), after `cursor` if one is given."""
        self._state_dir, self._since, self._cursor = state_dir, since, cursor
        self._clock = clock or SystemClock()
        self.notices: list[str] = []

    def now_ns(self) -> int:
        return self._clock.wall_ns()

    async def batches(self) -> AsyncGenerator[Batch, None]:
        changed = asyncio.Event()
        watching: asyncio.Task[None] | None = None
        reader = JournalReader(self._state_dir, cursor=self._cursor, since=self._since)
        one_at_a_time = threading.Lock()
        gone: set[str] = set(reader.cursor.finished)

        def poll() -> list[Event]:
            with one_at_a_time:
                return reader.poll(BATCH)

        try:
            while True:
                changed.clear()
                events = await asyncio.to_thread(poll)
                self.notices = reader.notices
                ended = sorted(reader.cursor.finished - gone)
                gone = set(reader.cursor.finished)
                if events or ended:
                    yield Batch(events, ended)
                if watching is None and journal_dir(self._state_dir).is_dir():
                    watching = asyncio.create_task(self._watch(changed), name="journal-watch")
                if len(events) < BATCH:
                    watched = watching is not None and not watching.done()
                    await _wait(changed, LOOK_AGAIN_S if watched else UNWATCHED_S)
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.wait([watching])
            with one_at_a_time:
                reader.close()

    def history(self) -> Iterator[Event]:
        reader = JournalReader(self._state_dir, since=self._since)
        try:
            while events := reader.poll(BATCH):
                yield from events
        finally:
            reader.close()

    async def _watch(self, changed: asyncio.Event) -> None:
        """Set `changed` whenever a journal is written; returns where that can't be told."""
        folder = journal_dir(self._state_dir)
        try:
            async for _ in awatch(folder, recursive=False, debounce=100, step=50, watch_filter=None):
                changed.set()
        except (OSError, RuntimeError) as error:
            log.info("the journals can't be watched, looking at them regularly instead: %s", error)


class Replay:
    """Plays a journal file or an NDJSON export again, `speed` times as fast as it happened.

    Stretches in which no turn runs are skipped. `paused` and `speed` may be set while it plays.
    """

    def __init__(self, path: Path, *, speed: float = 1.0, clock: Clock | None = None) -> None:
        """`speed` 0: everything at once. Raises `StateError` if the file is no journal and no export."""
        self._path, self.speed = path, speed
        self._clock = clock or SystemClock()
        self._position_ns: int | None = None
        self.paused = False
        self.finished = False
        self.notices: list[str] = []
        next(self.history(), None)

    def now_ns(self) -> int:
        """Where the replay is; before it starts, the present."""
        return self._clock.wall_ns() if self._position_ns is None else self._position_ns

    async def batches(self) -> AsyncGenerator[Batch, None]:
        waiting: list[Event] = []
        running: dict[str, Running] = {}
        open_turns: set[str] = set()
        mono_ns = self._clock.mono_ns()
        for event in self.history():
            at_ns = max(_time_ns(event), self._position_ns or 0)
            while self.paused or not self._due(at_ns, bool(open_turns)):
                if waiting:
                    yield Batch(waiting)
                    waiting = []
                await self._clock.sleep(GATHER_S)
                before_ns, mono_ns = mono_ns, self._clock.mono_ns()
                if not self.paused and self._position_ns is not None:
                    self._position_ns = min(at_ns, self._position_ns + round((mono_ns - before_ns) * self.speed))
            self._position_ns = at_ns
            running.setdefault(event.source, Running()).fold(event)
            if isinstance(event, TurnStarted) and event.turn is not None:
                open_turns.add(event.turn)
            elif isinstance(event, TurnFinished):
                open_turns.discard(event.turn or "")
            waiting.append(event)
            if len(waiting) >= BATCH:
                yield Batch(waiting)
                waiting = []
                await self._clock.sleep(0)
        ended = [source for source in running if not is_alive(self._path.absolute().parent.parent, source)]
        for source in ended:
            waiting += running[source].interruptions()
        self.finished = True
        yield Batch(waiting, ended)

    def history(self) -> Iterator[Event]:
        """Events of the file. Raises `StateError` that names the file."""
        try:
            with self._path.open("rb") as file:
                is_journal = file.read(len(_SQLITE)) == _SQLITE
        except OSError as error:
            raise StateError(f"{self._path}: can't be read ({error.strerror})", code="state_unreadable") from error
        return read_journal(self._path) if is_journal else read_ndjson(self._path)

    def _due(self, at_ns: int, turns_run: bool) -> bool:
        if self.speed <= 0 or self._position_ns is None or at_ns <= self._position_ns:
            return True
        return not turns_run and at_ns - self._position_ns > IDLE_GAP_NS


def _time_ns(event: Event) -> int:
    try:
        return parse_time_ns(event.time)
    except ValueError:
        return 0


async def _wait(changed: asyncio.Event, limit_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await changed.wait()
            await asyncio.sleep(GATHER_S)
