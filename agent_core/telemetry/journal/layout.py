"""Where journals lie and what is in one: names, schema, and the lock that tells whether its writer lives.

`<state dir>/telemetry/<date>-<source>.db` is one process's day (`telemetry/content/` has the same for content);
`<source>.lock` beside it is held (flock) as long as
that process lives, which the kernel ends whatever the process dies of.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from agent_core.errors import StateError
from agent_core.telemetry.source import SOURCE_PATTERN

JOURNAL_SCHEMA = 1
"""`PRAGMA user_version` of a journal. A higher one is of a newer Loopline and is refused."""
APPLICATION_ID = 0x4C4F4F50
SHIPPER_LOCK = "shipper.lock"
"""Held by the one process of a state directory that pushes to the hub."""
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-([A-Za-z0-9_.-]{1,64})\.db\Z")

CREATE = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {JOURNAL_SCHEMA}",
    "CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)


def make_journal(path: Path) -> None:
    """A fresh, closed file with its tables. Raises sqlite3.Error."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in CREATE:
            connection.execute(statement)
        connection.commit()


class JournalFile(msgspec.Struct, frozen=True, order=True):
    """One journal, ordered by day, then source."""

    date: str
    source: str
    path: str


def journal_dir(state_dir: Path) -> Path:
    return state_dir / "telemetry"


def content_dir(state_dir: Path) -> Path:
    """Where content lies, apart from figures."""
    return journal_dir(state_dir) / "content"


def journal_path(directory: Path, date: str, source: str) -> Path:
    """Raises ValueError for a source that does not fit into a file name."""
    if not SOURCE_PATTERN.match(source):
        raise ValueError(f"source {source!r} does not fit {SOURCE_PATTERN.pattern}")
    return directory / f"{date}-{source}.db"


def list_journals(state_dir: Path) -> list[JournalFile]:
    """The journals of a state directory in order; none if there is no such directory."""
    return list_files(journal_dir(state_dir))


def list_files(directory: Path) -> list[JournalFile]:
    """The journal files right in `directory`, in order."""
    try:
        paths = list(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [(path, _NAME.match(path.name)) for path in paths]
    return sorted(JournalFile(match[1], match[2], str(path)) for path, match in found if match)


def check_schema(connection: sqlite3.Connection, path: str) -> None:
    """Raises `StateError`: `state_newer_schema` for a newer version's journal, `state_empty_journal` for one that its
    writer has made and not yet filled, `state_no_journal` for anything else.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if version == application == 0:
        raise StateError(f"{path}: empty", code="state_empty_journal")
    if application != APPLICATION_ID:
        raise StateError(f"{path}: not a telemetry journal", code="state_no_journal")
    if version > JOURNAL_SCHEMA:
        raise StateError(
            f"{path}: written by a newer Loopline (journal schema {version}, this one reads {JOURNAL_SCHEMA}); "
            "update Loopline to read it",
            code="state_newer_schema",
        )


class SourceLock:
    """Says that a source's process lives. Made by the writer before its first journal."""

    def __init__(self, state_dir: Path, source: str) -> None:
        """Raises OSError if the directory can't be written. The lock is taken under a private name and renamed, so that
        no reader ever sees it unlocked."""
        self._path = _lock_path(state_dir, source)
        private = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        self._fd = os.open(private, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            private.rename(self._path)
        except OSError:
            os.close(self._fd)
            raise

    def release(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def is_alive(state_dir: Path, source: str) -> bool:
    """Whether the process that writes as `source` lives. False for journals of another machine."""
    return is_held(_lock_path(state_dir, source))


def is_held(lock: Path) -> bool:
    """Whether a living process holds this lock file; False if there is none."""
    try:
        fd = os.open(lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


def _lock_path(state_dir: Path, source: str) -> Path:
    return journal_dir(state_dir) / f"{source}.lock"
