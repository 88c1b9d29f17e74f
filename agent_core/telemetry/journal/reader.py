"""The journal's reading side: read one file, or follow all files of a state directory while they are written.

Read-only throughout. Following is by cursor (the last sequence of each source), so a reader can start late, stop and
go on.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from agent_core.errors import StateError
from agent_core.salvage import is_damage, lenient_text, out_of_order, rows_of
from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.events import Event
from agent_core.telemetry.journal.layout import JournalFile, check_schema, is_alive, list_journals, make_journal
from agent_core.telemetry.rollup.running import Running

log = logging.getLogger(__name__)

PAGE = 2_000
"""Rows of one read transaction; a long one would keep the writer from shrinking its write-ahead log."""


class Cursor(msgspec.Struct):
    """How far a reader is: the last sequence by source, and the sources that ended and were read to their end."""

    seqs: dict[str, int] = {}
    finished: set[str] = set()


def open_journal(path: str | Path) -> sqlite3.Connection:
    """A read-only connection to a checked journal. Raises `StateError` with one line that names the file."""
    if not Path(path).is_file():
        raise StateError(f"{path}: there is no such journal", code="state_no_journal")
    where = Path(path).absolute().as_uri()
    try:
        return _connect(f"{where}?mode=ro", path)
    except sqlite3.OperationalError as error:
        # on a read-only medium SQLite can't make the shared-memory file WAL asks for; without a log on disk the file
        # itself is whole
        if Path(f"{path}-wal").exists():
            raise StateError(f"{path}: this journal can't be read ({error})", code="state_unreadable") from error
        return _connect(f"{where}?immutable=1", path)
    except sqlite3.DatabaseError as error:
        raise StateError(f"{path}: not a telemetry journal ({error})", code="state_no_journal") from error


def read_journal(path: str | Path, after: int = 0) -> Iterator[Event]:
    """Events of one file after sequence `after`. Rows that are no event of this version are left out.

    Raises `StateError` if the file can't be read or is of a newer schema.
    """
    connection = open_journal(path)
    try:
        while rows := _page(connection, after, PAGE):
            if max(seq for seq, _ in rows) <= after:
                raise out_of_order(str(path))
            for seq, body in rows:
                after = max(seq, after)
                event = _decode(body)
                if event is not None:
                    yield event
    finally:
        connection.close()


def salvaged(path: str | Path) -> list[tuple[int, str]]:
    """The rows of a damaged journal that can be read, by sequence."""
    with TemporaryDirectory(prefix="loopline-journal-") as scratch:
        rows = rows_of(Path(path), make_journal, Path(scratch)).get("event", [])
    return sorted((seq, body) for seq, body in rows if isinstance(seq, int) and isinstance(body, str))


def read_ndjson(path: str | Path) -> Iterator[Event]:
    """Events of an NDJSON export. Raises `StateError` that names the line which is no event."""
    with Path(path).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                event = decode_event(line)
            except StateError as error:
                raise StateError(f"{path}: line {number}: {error.message}", code=error.code) from error
            if event is not None:
                yield event


class _Source(msgspec.Struct):
    running: Running
    drained: set[str]
    """Files of this source that hold nothing more."""
    file: JournalFile | None = None
    connection: sqlite3.Connection | None = None
    inode: int = 0
    """Of the open file: its writer puts another in its place if it is damaged."""


class Feed:
    """Follows the journals of a state directory. Use from one thread at a time; `close` it.

    What was running when its process died is ended by events of status `interrupted` at its last activity.
    """

    def __init__(self, state_dir: Path, *, cursor: Cursor | None = None, since: str = "") -> None:
        """Starts after `cursor`, or with everything. `since` (YYYY-MM-DD) leaves files of earlier days unread."""
        self._state_dir, self._since = state_dir, since
        self.cursor = cursor or Cursor()
        self._sources: dict[str, _Source] = {}
        self._refused: dict[str, int] = {}
        """Files that can't be read, with their inodes."""
        self._damaged: set[str] = set()
        self.notices: list[str] = []
        """One line for each file that can't be read, in the order found; each is logged once."""

    def poll(self, limit: int = 10_000) -> list[Event]:
        """New events since the last poll, at most about `limit`; empty when there are none.

        Those of one source come in their order; sources are merged by time of day. Never waits.
        """
        by_source: dict[str, list[JournalFile]] = {}
        files = list_journals(self._state_dir)
        self.cursor.finished &= {file.source for file in files}
        for file in files:
            if file.date < self._since or file.source in self.cursor.finished:
                continue
            if file.path not in self._refused or self._refused[file.path] != _inode(file):
                by_source.setdefault(file.source, []).append(file)
        found: list[tuple[str, Event]] = []
        for name, of_source in by_source.items():
            if len(found) >= limit:
                break
            latest = ""
            for event in self._read_source(name, of_source, limit - len(found)):
                latest = max(latest, event.time)
                found.append((latest, event))
        found.sort(key=_by_time)
        return [event for _, event in found]

    def close(self) -> None:
        for source in self._sources.values():
            _close(source)

    def _read_source(self, name: str, files: list[JournalFile], limit: int) -> list[Event]:
        source = self._sources.setdefault(name, _Source(Running(), set()))
        alive = is_alive(self._state_dir, name)  # before reading: what a dead process wrote is all there
        cursor = self.cursor.seqs.get(name, 0)
        events: list[Event] = []
        for file in files:
            if file.path in source.drained:
                continue
            try:
                at_end = self._read_file(source, file, limit, cursor, events)
            except (StateError, sqlite3.Error, UnicodeDecodeError) as error:
                _close(source)
                if alive and (_may_pass(error) or not _inode(file)):
                    break
                at_end = True
                if not self._read_damaged(source, file, error, cursor, events):
                    self._refuse(file, error)
            if not at_end:
                break
            if not alive or file is not files[-1]:
                _close(source)
                source.drained.add(file.path)
        else:
            if not alive:
                events += [event for event in source.running.interruptions() if event.seq > cursor]
                self.cursor.finished.add(name)
                del self._sources[name]
        if events:
            self.cursor.seqs[name] = events[-1].seq
        return events

    def _read_file(self, source: _Source, file: JournalFile, limit: int, cursor: int, events: list[Event]) -> bool:
        """Add the file's new events to `events`; False if `limit` was reached before its end."""
        connection = self._connection(source, file)
        while rows := _page(connection, source.running.seq, PAGE):
            before = source.running.seq
            for seq, body in rows:
                if seq <= source.running.seq:
                    continue
                source.running.seq = seq
                event = self._event(file, seq, body)
                if event is not None:
                    source.running.fold(event)
                    if seq > cursor:
                        events.append(event)
            if source.running.seq == before:
                raise out_of_order(file.path)
            if len(events) >= limit:
                return False
        return True

    def _read_damaged(
        self, source: _Source, file: JournalFile, error: Exception, cursor: int, events: list[Event]
    ) -> bool:
        """Add what can still be read of a damaged file; False if it is not damaged, or nothing can be."""
        if not is_damage(error.__cause__ or error):
            return False
        inode = _inode(file)
        rows = salvaged(file.path)
        if not rows:
            return False
        for seq, body in rows:
            if seq <= source.running.seq:
                continue
            source.running.seq = seq
            event = self._event(file, seq, body)
            if event is not None:
                source.running.fold(event)
                if seq > cursor:
                    events.append(event)
        self._refused[file.path] = inode
        self._tell(f"{file.path}: this journal is damaged; {len(rows)} events of it can be read, the rest is lost")
        return True

    def _event(self, file: JournalFile, seq: int, body: object) -> Event | None:
        """None: of a type that this version does not know, or damaged; the latter is told once a file. An event that
        names another place than its row's is damaged: followed, it would lead back."""
        try:
            event = decode_event(body) if isinstance(body, str) else None
            if isinstance(body, str) and (event is None or event.seq == seq):
                return event
        except StateError:
            pass
        if file.path not in self._damaged:
            self._damaged.add(file.path)
            self._tell(f"{file.path}: some events of this journal are damaged and left out")
        return None

    def _tell(self, notice: str) -> None:
        self.notices.append(notice)
        log.warning("telemetry journal: %s", notice)

    def _connection(self, source: _Source, file: JournalFile) -> sqlite3.Connection:
        inode = _inode(file)
        if source.connection is None or source.file != file or source.inode != inode:
            _close(source)
            source.connection, source.file, source.inode = open_journal(file.path), file, inode
        return source.connection

    def _refuse(self, file: JournalFile, error: Exception) -> None:
        self._refused[file.path] = _inode(file)
        notice = error.message if isinstance(error, StateError) else f"{file.path}: {error}"
        if isinstance(error, StateError) and error.code == "state_empty_journal":
            notice = f"{file.path}: this journal is empty; if anything was in it, it is lost"
        self.notices.append(notice)
        log.warning("telemetry journal left out: %s", notice)


def _connect(uri: str, path: str | Path) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=1.0, isolation_level=None, check_same_thread=False)
    connection.text_factory = lenient_text
    try:
        connection.execute("PRAGMA query_only = ON")
        check_schema(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _page(connection: sqlite3.Connection, after: int, rows: int) -> list[tuple[int, str]]:
    return connection.execute(
        "SELECT seq, body FROM event WHERE seq > ? ORDER BY seq LIMIT ?", (after, rows)
    ).fetchall()


def _decode(body: object) -> Event | None:
    try:
        return decode_event(body) if isinstance(body, str) else None
    except StateError:
        return None


def _may_pass(error: Exception) -> bool:
    """Whether a live writer's journal may be readable at the next look: it is just being made, or locked."""
    return isinstance(error, sqlite3.OperationalError) or (
        isinstance(error, StateError) and error.code in ("state_empty_journal", "state_unreadable")
    )


def _close(source: _Source) -> None:
    if source.connection is not None:
        source.connection.close()
    source.connection = source.file = None


def _inode(file: JournalFile) -> int:
    """0: there is no such file, or not now."""
    try:
        return Path(file.path).stat().st_ino
    except OSError:
        return 0


def _by_time(item: tuple[str, Event]) -> str:
    return item[0]
