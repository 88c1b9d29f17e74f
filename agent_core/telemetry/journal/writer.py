"""Appends batches of events to the files of one source. Lives in one thread; blocks as long as the disk does.

Figures and content (prompts, code, paths; only if the user wants them kept) lie in different files, so that content
can be given a shorter life by unlinking.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from agent_core.errors import StateError
from agent_core.salvage import is_damage, mend
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import Content, Event
from agent_core.telemetry.journal.layout import (
    CREATE,
    SourceLock,
    check_schema,
    content_dir,
    journal_dir,
    journal_path,
    make_journal,
)
from agent_core.telemetry.rollup.axis import parse_time_ns

log = logging.getLogger(__name__)

RETRY_S = 5.0
"""Pause before a failed write is tried again."""
MAX_MENDED = 3
"""Damaged files that one process replaces; a disk that damages more is left alone."""
_STEP_NS = 1_000_000_000


class JournalWriter:
    """The files of one source. `write` and `close` are the whole of it; one warning a process at most for each kind
    of trouble."""

    def __init__(self, state_dir: Path, source: str) -> None:
        self._state_dir, self._source = state_dir, source
        self._alive: SourceLock | None = None
        self._figures = _DayFiles(journal_dir(state_dir), source)
        self._content = _DayFiles(content_dir(state_dir), source)
        self._counts: dict[str, int] = {}
        self._anchor_ns: int | None = None
        self._warned = self._warned_clock = False
        self._mended = 0
        self.unwritable = 0
        """Events whose values are no JSON: a fault of the emitter that must not stop the others."""

    def write(self, batch: Sequence[Event], counts: dict[str, int]) -> bool:
        """Append a batch in one transaction per file; False if it could not be written. Repeating it is harmless."""
        for event in (batch[0], batch[-1]):
            self._watch_clock(event)
        contents = [event for event in batch if type(event) is Content]
        figures = [event for event in batch if type(event) is not Content] if contents else batch
        try:
            if self._alive is None:
                journal_dir(self._state_dir).mkdir(parents=True, exist_ok=True, mode=0o700)
                self._alive = SourceLock(self._state_dir, self._source)
            for files, events in ((self._figures, figures), (self._content, contents)):
                self._append_mending(files, events, counts)
        except (sqlite3.Error, OSError, StateError) as error:
            self._give_up(error)
            return False
        self._counts = counts
        return True

    def close(self) -> None:
        self._figures.close()
        self._content.close()
        with contextlib.suppress(OSError):
            if self._alive is not None:
                self._alive.release()
        self._alive = None

    def _append_mending(self, files: _DayFiles, events: Sequence[Event], counts: dict[str, int]) -> None:
        """A file that turns out to be damaged is set aside, which `mend` tells; what can be read of it goes on."""
        try:
            self._append(files, events, counts)
        except sqlite3.DatabaseError as error:
            files.close()
            if not is_damage(error) or self._mended >= MAX_MENDED:
                raise
            self._mended += 1
            mend(files.path, make_journal)
            self._append(files, events, counts)

    def _append(self, files: _DayFiles, events: Sequence[Event], counts: dict[str, int]) -> None:
        start = 0
        for end in range(1, len(events) + 1):
            if end == len(events) or events[end].time[:10] > max(files.date, events[start].time[:10]):
                rows = [row for event in events[start:end] if (row := self._row(event)) is not None]
                connection = files.open(events[start].time[:10])
                with connection:
                    connection.executemany("INSERT OR IGNORE INTO event VALUES (?, ?)", rows)
                    if counts != self._counts:
                        told = [(key, str(value)) for key, value in counts.items()]
                        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", told)
                start = end

    def _row(self, event: Event) -> tuple[int, str] | None:
        try:
            return event.seq, encode_event(event).decode()
        except (TypeError, ValueError, NotImplementedError):
            self.unwritable += 1
            return None

    def _give_up(self, error: Exception) -> None:
        self._figures.close()
        self._content.close()
        if not self._warned:
            self._warned = True
            log.warning(
                "telemetry is not recorded: %s: %s. The run goes on; writing is tried again every %.0f s",
                self._figures.path,
                _reason(error),
                RETRY_S,
            )

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


class _DayFiles:
    """One directory's files of a source, of which the latest is open."""

    def __init__(self, directory: Path, source: str) -> None:
        self._directory, self._source = directory, source
        self._connection: sqlite3.Connection | None = None
        self.date = ""
        self.path = directory

    def open(self, date: str) -> sqlite3.Connection:
        """The file of that day; an earlier day stays in the present file: files keep the order of the sequence."""
        if self._connection is not None and date <= self.date:
            return self._connection
        self.close()
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.date = max(date, self.date)
        self.path = journal_path(self._directory, self.date, self._source)
        new = not self.path.exists()
        connection = sqlite3.connect(self.path, timeout=1.0, isolation_level="DEFERRED")
        try:
            if new:
                self.path.chmod(0o600)
            else:
                check_schema(connection, str(self.path))
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
        self._connection = connection
        return connection

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"{errno.errorcode.get(error.errno, error.errno)} {error.strerror}"
    return str(error)
