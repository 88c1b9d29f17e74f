"""Ends the life of old journals by unlinking whole files, so that disk is really freed and nothing is left
half-deleted.

Figures live longer than content. A sweep is bounded; what it leaves for the next one it counts.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec

from agent_core.telemetry.journal.layout import (
    SHIPPER_LOCK,
    JournalFile,
    content_dir,
    is_alive,
    is_held,
    journal_dir,
    list_files,
)

FIGURE_DAYS = 30
CONTENT_DAYS = 7
MAX_FILES = 1_000
"""Files that one sweep unlinks at most."""
_BESIDE = ("", "-wal", "-shm")


class Swept(msgspec.Struct, frozen=True):
    """What a sweep did. `backlog` is how many due files it left, because of `MAX_FILES` or because they would not
    go."""

    files: int
    freed_bytes: int
    backlog: int


def sweep(state_dir: Path, now_ns: int, *, figure_days: int = FIGURE_DAYS, content_days: int = CONTENT_DAYS) -> Swept:
    """Unlink journals older than these days, and locks whose process is gone. `now_ns` is nanoseconds since the
    epoch.

    0 days keeps today only. A file that a living process writes into is never taken. Never raises for a file that
    can't be unlinked.
    """
    today = datetime.fromtimestamp(now_ns / 1e9, UTC).date()
    due = _due(state_dir, journal_dir(state_dir), today, figure_days)
    due += _due(state_dir, content_dir(state_dir), today, content_days)
    files = freed = left = 0
    for file in due:
        if files == MAX_FILES:
            left += 1
            continue
        size = _unlink(Path(file.path))
        if size is None:
            left += 1
        else:
            files, freed = files + 1, freed + size
    _drop_dead_locks(state_dir)
    return Swept(files, freed, left)


def _due(state_dir: Path, directory: Path, today: date, days: int) -> list[JournalFile]:
    files = list_files(directory)
    latest = {file.source: file.path for file in files}
    return [
        file
        for file in files
        if _day(file, today) < today - timedelta(days=days)
        and not (latest[file.source] == file.path and is_alive(state_dir, file.source))
    ]


def _day(file: JournalFile, today: date) -> date:
    """The day in the name; of a file from the future (the clock was wrong then), the day it was last written."""
    with contextlib.suppress(ValueError):
        named = date.fromisoformat(file.date)
        if named <= today:
            return named
    try:
        return datetime.fromtimestamp(Path(file.path).stat().st_mtime, UTC).date()
    except OSError:
        return today


def _unlink(path: Path) -> int | None:
    """Bytes freed; None if the file would not go."""
    size = 0
    for end in _BESIDE:
        part = path.with_name(path.name + end)
        try:
            size += part.stat().st_size
            part.unlink()
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return size


def _drop_dead_locks(state_dir: Path) -> None:
    """Of processes that were killed, also while they made their lock. The shipper's lock is for all and stays."""
    for pattern in ("*.lock", "*.lock.*.new"):
        for lock in journal_dir(state_dir).glob(pattern):
            if lock.name != SHIPPER_LOCK and not is_held(lock):
                with contextlib.suppress(OSError):
                    lock.unlink()
