"""Opening the hub's SQLite files: owner-only, WAL, versioned; and SQLite's errors as the store's own."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_core.errors import StateError
from agent_core.salvage import lenient_text, mend
from dashboard.hub.store.port import StoreError

SCHEMA = 2
"""`PRAGMA user_version` of the hub's files. A higher one is of a newer Loopline and is refused."""
APPLICATION_ID = 0x4C485542
BUSY_S = 5.0
"""How long a statement waits for a lock of another process."""
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def open_writable(path: Path, create: Sequence[str], *, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """A connection in autocommit mode to `path`, made with the statements `create` if it is new.

    A new file is made under a private name and renamed, so that no reader ever finds it without its tables. Raises
    `StateError` for a file of a newer schema or of another program, `sqlite3.Error` and OSError otherwise.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists() or not path.stat().st_size:
        private = path.with_name(f"{path.name}.{os.getpid()}.new")
        private.unlink(missing_ok=True)
        private.touch(mode=0o600)
        _configured(private, create, busy_s).close()
        private.rename(path)
    return _configured(path, create, busy_s)


def mended(path: Path, create: Sequence[str]) -> str | None:
    """Mend a file that is damaged, before anybody opens it; what to tell a person, None if it is whole."""
    return mend(path, lambda fresh: _configured(fresh, create, BUSY_S).close())


def _configured(path: Path, create: Sequence[str], busy_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    connection.text_factory = lenient_text
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_size_limit = 16777216")
        check(connection, path)
        with transaction(connection):
            for statement in create:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
    except BaseException:
        connection.close()
        raise
    return connection


def version_of(path: Path) -> int:
    """The schema of a file, 0 if it is not there or not made yet."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=BUSY_S)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def lock_folder(folder: Path) -> int:
    """Take the folder for one hub: a descriptor that holds the lock until it is closed or the process ends.

    Raises `StateError` (`state_in_use`) if another hub has it: two would count each other's events wrong.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(folder / "hub.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise StateError(
            f"{folder}: another `loopline web` uses this store",
            code="state_in_use",
            hint="open its page, stop it, or give this one its own --store",
        ) from None
    return fd


def open_readable(path: Path) -> sqlite3.Connection:
    """A read-only connection, to be used by one thread at a time."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = lenient_text
    connection.execute("PRAGMA query_only = ON")
    return connection


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raises `StateError` for a file that is neither empty nor of the hub in a schema that this version knows."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if version == application == 0:
        return
    if application != APPLICATION_ID:
        raise StateError(f"{path}: not a file of the hub", code="state_no_hub")
    if version > SCHEMA:
        raise StateError(
            f"{path}: written by a newer Loopline (hub schema {version}, this one reads {SCHEMA}); update Loopline",
            code="state_newer_schema",
        )


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """BEGIN IMMEDIATE … COMMIT; rolled back on any error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    try:
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turns what SQLite and the file system raise into `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        primary = (error.sqlite_errorcode & 0xFF) if hasattr(error, "sqlite_errorcode") else 0
        code = "store_full" if primary == sqlite3.SQLITE_FULL else "store_busy" if primary in _BUSY else "store_failed"
        raise StoreError(f"{path}: {error}", code=code) from error
    except OSError as error:
        code = "store_full" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "store_failed"
        raise StoreError(f"{path}: {error.strerror or error}", code=code) from error
