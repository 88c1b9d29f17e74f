"""The one way to read a file that somebody else may have put there, and to write one that a person named beside such.

What is read is a regular file of a bounded size, reached without following a link out of its root, and opened without
waiting. A named pipe, a device, a socket, a folder, a link that loops or leads out, and a file that is too long are
refused by name. What is written is the named file itself, never what a link leads to.
`tests/architecture/test_reading.py` finds whoever opens such files otherwise.
"""

# Calls relative to an open folder, which pathlib has not.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_core.errors import FileRefused

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

MAX_TOML_BYTES = 64 << 10
MAX_TOML_WORK = 4_000_000
"""Reading a key of TOML takes time that grows with the square of its parts: bound of the sum over lines of the square
of their dots."""

_CHUNK_BYTES = 1 << 20

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a symbolic link"),
)


def kind_of(mode: int) -> str:
    """What a path is, for a message: "a directory", "a named pipe", …"""
    return next((name for test, name in _KINDS if test(mode)), "no regular file")


def read(root: str | Path, relative: str, max_bytes: int) -> bytes:
    """The whole file `relative` below `root`. A link counts as what it leads to if that lies below `root` too.

    Raises FileRefused: `not_found`, `not_a_file`, `too_large` or `unreadable`.
    """
    data = _read(root, relative, max_bytes)
    if len(data) > max_bytes:
        shown = os.path.join(root, relative)
        raise FileRefused(shown, f"longer than {max_bytes:,} bytes", code="too_large")
    return data


def read_start(root: str | Path, relative: str, max_bytes: int) -> bytes | None:
    """The first `max_bytes` of a file; None where `read` would refuse it for another reason than its length."""
    try:
        return _read(root, relative, max_bytes)[:max_bytes]
    except FileRefused:
        return None


def read_plain(path: str, max_bytes: int) -> bytes | None:
    """A file of a folder that was walked to without links, quickly; None if it is no regular file, is a link, or has
    more bytes."""
    try:
        handle = os.open(path, FILE)
    except (OSError, ValueError):
        return None
    try:
        data = read_handle(handle, max_bytes + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(handle)
    return data if data is not None and len(data) <= max_bytes else None


def read_toml(path: Path, root: Path | None = None) -> dict[str, Any] | None:
    """A TOML file as tables; None where there is none. `root` None: the file is the user's own, and any link counts.

    Raises FileRefused as `read` does, and `malformed` with the reason.
    """
    if root is None:
        path = Path(os.path.realpath(path))
    try:
        data = read(root or path.parent, os.path.relpath(path, root or path.parent), MAX_TOML_BYTES)
    except FileRefused as refused:
        if refused.code == "not_found":
            return None
        raise
    return parse_toml(data)


def parse_toml(data: bytes) -> dict[str, Any]:
    """TOML as tables. Raises FileRefused `malformed`, also for what is nested so deep that reading it takes long."""
    if sum(line.count(b".") ** 2 for line in data.split(b"\n")) > MAX_TOML_WORK:
        raise FileRefused("", "its keys have more parts than settings need", code="malformed")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise FileRefused("", "it is nested too deep", code="malformed") from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are such, and a number of too many digits
        raise FileRefused("", str(error), code="malformed") from None


def open_parent(root: str, relative: str) -> int:
    """The folder of a path as a handle, walked from `root` without following a link. Raises OSError."""
    current = os.open(root, DIRECTORY)
    try:
        for part in relative.split("/")[:-1]:
            below = os.open(part, DIRECTORY, dir_fd=current)
            os.close(current)
            current = below
    except BaseException:
        os.close(current)
        raise
    return current


def open_at(parent: int, name: str, shown: str) -> tuple[int, os.stat_result]:
    """A regular file as a handle that the caller closes, and its status. Raises FileRefused `not_a_file`, OSError."""
    # Looked at before it is opened: opening alone lets a pipe's writer go on and may set a device moving.
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(shown, f"{kind_of(found.st_mode)}, not a regular file", code="not_a_file")
    handle = os.open(name, FILE, dir_fd=parent)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise FileRefused(shown, "not a regular file", code="not_a_file")
    return handle, status


def refuse_link(path: Path) -> None:
    """For what is written only later: whether `open_to_write` would turn a link down. Raises FileRefused."""
    if path.is_symlink():
        raise FileRefused(str(path), "a link; name the file that it leads to, or another", code="not_a_file")


def open_to_write(path: Path) -> int:
    """A file that a person named, made or emptied, as a handle that the caller closes.

    Raises FileRefused `not_a_file` for a link as its last part: in a cloned folder somebody else may have laid it, and
    what is written would land where it leads. So does what is neither a regular file nor a device. Does not wait for
    the reader of a pipe.
    """
    shown = str(path)
    refuse_link(path)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise translated(error, shown) from None
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode):
        os.ftruncate(handle, 0)
    elif not stat.S_ISCHR(status.st_mode):
        os.close(handle)
        raise FileRefused(shown, f"{kind_of(status.st_mode)}, not a regular file", code="not_a_file")
    return handle


def read_handle(handle: int, most: int) -> bytes:
    """All of an open file, but no more than `most` bytes."""
    pieces: list[bytes] = []
    left = most
    while left > 0 and (piece := os.read(handle, min(left, _CHUNK_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def translated(error: OSError, shown: str) -> FileRefused:
    """An error of the system as one of ours that names the file."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return FileRefused(shown, "no such file", code="not_found")
    if error.errno in (errno.ELOOP, errno.ENXIO):
        return FileRefused(shown, "not a regular file", code="not_a_file")
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return FileRefused(shown, reason.lower(), code="unreadable")


def _read(root: str | Path, relative: str, max_bytes: int) -> bytes:
    """At most one byte more than `max_bytes`."""
    shown = os.path.join(root, relative)
    try:
        top = os.path.realpath(root)
        path = os.path.realpath(os.path.join(top, relative))
        inside = path.startswith(f"{top.rstrip('/')}/")
    except (OSError, ValueError):  # a NUL in a name
        raise FileRefused(repr(shown), "no path", code="not_a_file") from None
    if not inside:
        raise FileRefused(shown, f"a link that leads out of {root}", code="not_a_file")
    try:
        parent = open_parent(top, os.path.relpath(path, top))
        try:
            handle, _ = open_at(parent, os.path.basename(path), shown)
        finally:
            os.close(parent)
        try:
            return read_handle(handle, max_bytes + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise translated(error, shown) from None
