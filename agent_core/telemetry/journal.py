"""The journal's writing side: a sink whose one thread appends events to SQLite, one file per process and day.

Owns the files of its own source and nothing else. Emitting costs an append to a list; what the disk does happens in
the thread. A disk that is full, slow or read-only costs one warning in the log and, at worst, counted events, never
the run.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from agent_core.errors import StateError
from agent_core.telemetry.axis import parse_time_ns
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import CallProgress, Event
from agent_core.telemetry.layout import CREATE, SourceLock, check_schema, journal_dir, journal_path

log = logging.getLogger(__name__)

BATCH_S = 0.05
"""How long the thread gathers events before it writes; what a `kill -9` can lose, and what followers lag at most."""
RETRY_S = 5.0
"""Pause before a failed write is tried again."""
MAX_PROGRESS = 1_000
"""Waiting `call.progress` samples; the oldest are dropped beyond it."""
MAX_WAITING = 20_000
"""Other events that wait while the disk takes none, about 10 MB. A disk that is gone for longer loses the oldest."""
_STEP_NS = 1_000_000_000


class JournalSink:
    """Implements `emitter.Sink`: never blocks, never raises. `close` it, or the last 50 ms are lost.

    `dropped` counts `call.progress` samples given up because the disk could not keep up.
    """

    def __init__(self, state_dir: Path, source: str) -> None:
        """Starts the writer. Nothing is touched on disk before the first event; a state directory is made then."""
        self._state_dir, self._source = state_dir, source
        self._lock = threading.Lock()
        self._events: deque[Event] = deque()
        self._progress: deque[Event] = deque()
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._flushed = threading.Condition(self._lock)
        self._closing = False
        self._busy = False
        self.dropped = 0
        self._lost = 0
        self._writer = _Writer(state_dir, source)
        self._thread = threading.Thread(target=self._run, name="loopline-journal", daemon=True)
        self._thread.start()

    def emit(self, event: Event) -> None:
        with self._lock:
            if self._closing:
                self._lost += 1
                return
            if type(event) is CallProgress:
                self._progress.append(event)
                if len(self._progress) > MAX_PROGRESS:
                    self._progress.popleft()
                    self.dropped += 1
            else:
                self._events.append(event)
                if len(self._events) > MAX_WAITING:
                    self._events.popleft()
                    self._lost += 1
        self._wake.set()

    @property
    def lost(self) -> int:
        """Events other than samples that no retry could write."""
        return self._lost + self._writer.unwritable

    def flush(self, timeout_s: float = 2.0) -> bool:
        """Wait until everything emitted so far is readable by others; False if it is not after `timeout_s` seconds."""
        self._hurry.set()
        self._wake.set()
        with self._flushed:
            return self._flushed.wait_for(self._is_empty, timeout_s)

    def close(self, timeout_s: float = 2.0) -> None:
        """Write what waits and end the thread, within `timeout_s` seconds; what can't be written counts as lost."""
        with self._lock:
            self._closing = True
        self._hurry.set()
        self._wake.set()
        self._thread.join(timeout_s)
        with self._lock:
            self._lost += len(self._events) + len(self._progress)
            self._events.clear()
            self._progress.clear()

    def _is_empty(self) -> bool:
        return not (self._events or self._progress or self._busy)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._hurry.wait(BATCH_S)
            with self._lock:
                self._wake.clear()
                self._hurry.clear()
                closing = self._closing
                batch = sorted([*self._events, *self._progress], key=_seq)
                self._events.clear()
                self._progress.clear()
                self._busy = bool(batch)
                counts = {"dropped": self.dropped, "lost": self._lost}
            written = self._writer.write(batch, counts) if batch else True
            with self._flushed:
                if not written:
                    self._put_back(batch)
                self._busy = False
                self._flushed.notify_all()
            if closing:
                self._writer.close()
                return
            if not written:
                self._hurry.wait(RETRY_S)
                self._wake.set()

    def _put_back(self, batch: Sequence[Event]) -> None:
        """Keep lifecycle events for the next try; samples are worth nothing then."""
        kept = [event for event in batch if type(event) is not CallProgress]
        self.dropped += len(batch) - len(kept)
        room = max(0, MAX_WAITING - len(self._events))
        self._lost += max(0, len(kept) - room)
        self._events.extendleft(reversed(kept[max(0, len(kept) - room) :]))


class _Writer:
    """The files; lives in the journal's thread alone."""

    def __init__(self, state_dir: Path, source: str) -> None:
        self._state_dir, self._source = state_dir, source
        self._alive: SourceLock | None = None
        self._connection: sqlite3.Connection | None = None
        self._date = ""
        self._path = journal_dir(state_dir)
        self._counts: dict[str, int] = {}
        self._anchor_ns: int | None = None
        self._warned = self._warned_clock = False
        self.unwritable = 0
        """Events whose values are no JSON: a fault of the emitter that must not stop the others."""

    def write(self, batch: Sequence[Event], counts: dict[str, int]) -> bool:
        """Append a batch in one transaction per file; False if it could not be written. Repeating it is harmless."""
        self._watch_clock(batch[-1])
        start = 0
        try:
            for end in range(1, len(batch) + 1):
                if end == len(batch) or batch[end].time[:10] > max(self._date, batch[start].time[:10]):
                    self._append(batch[start:end], counts)
                    start = end
        except (sqlite3.Error, OSError, StateError) as error:
            self._give_up(error)
            return False
        return True

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
        with contextlib.suppress(OSError):
            if self._alive is not None:
                self._alive.release()
        self._connection = self._alive = None

    def _append(self, events: Sequence[Event], counts: dict[str, int]) -> None:
        connection = self._open(events[0].time[:10])
        rows = [row for event in events if (row := self._row(event)) is not None]
        with connection:
            connection.executemany("INSERT OR IGNORE INTO event VALUES (?, ?)", rows)
            if counts != self._counts:
                connection.executemany(
                    "INSERT OR REPLACE INTO meta VALUES (?, ?)", [(key, str(value)) for key, value in counts.items()]
                )
        self._counts = counts

    def _row(self, event: Event) -> tuple[int, str] | None:
        try:
            return event.seq, encode_event(event).decode()
        except (TypeError, ValueError, NotImplementedError):
            self.unwritable += 1
            return None

    def _open(self, date: str) -> sqlite3.Connection:
        """The file of that day; an earlier day stays in the present file: files keep the order of the sequence."""
        if self._connection is not None and date <= self._date:
            return self._connection
        journal_dir(self._state_dir).mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._alive is None:
            self._alive = SourceLock(self._state_dir, self._source)
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._date = max(date, self._date)
        self._path = journal_path(self._state_dir, self._date, self._source)
        new = not self._path.exists()
        connection = sqlite3.connect(self._path, timeout=1.0, isolation_level="DEFERRED")
        try:
            if new:
                self._path.chmod(0o600)
            else:
                check_schema(connection, str(self._path))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in CREATE:
                connection.execute(statement)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('source', ?)", (self._source,))
            connection.commit()
        except BaseException:
            connection.close()
            raise
        self._connection, self._counts = connection, {}
        return connection

    def _give_up(self, error: Exception) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        if not self._warned:
            self._warned = True
            log.warning(
                "telemetry is not recorded: %s: %s. The run goes on; writing is tried again every %.0f s",
                self._path, _reason(error), RETRY_S,
            )  # fmt: skip

    def _watch_clock(self, event: Event) -> None:
        if not event.time:
            return
        anchor_ns = parse_time_ns(event.time) - event.mono_ns
        behind_ns = 0 if self._anchor_ns is None else self._anchor_ns - anchor_ns
        self._anchor_ns = anchor_ns
        if behind_ns > _STEP_NS and not self._warned_clock:
            self._warned_clock = True
            log.warning(
                "the clock was set back by %.0f s: times of day in telemetry overlap, durations are not affected",
                behind_ns / 1e9,
            )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"{errno.errorcode.get(error.errno, error.errno)} {error.strerror}"
    return str(error)


def _seq(event: Event) -> int:
    return event.seq
