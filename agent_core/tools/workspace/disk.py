"""Reading and replacing files beneath a root, whatever else happens in that folder.

Owns the system calls. A path is walked one component at a time without following links, so a link that is swapped in
after the check leads nowhere. Only regular files are opened; pipes, devices and sockets are refused before any read.
"""

# Calls relative to an open folder, which pathlib has not.
# ruff: noqa: PTH119

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from agent_core.errors import FileRefused, ToolError
from agent_core.tools.workspace.exchange import exchange
from agent_core.untrusted_files import FILE, open_at, open_parent, read_handle, translated

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

TEMPORARY_MARK = ".loopline-tmp-"
"""Part of the name of a file that is being written; walkers leave such names out."""


class Snapshot(msgspec.Struct, frozen=True):
    """The bytes of a file and what they were: permission bits and a digest of the content."""

    data: bytes
    mode: int
    digest: bytes


def digest_of(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def read_file(root: str, relative: str, shown: str, max_bytes: int) -> Snapshot:
    """The whole file; `shown` names it in messages. ToolError: not_found, not_a_file, too_large, unreadable."""
    with _translated(shown):
        parent = open_parent(root, relative)
        try:
            return _read_at(parent, os.path.basename(relative), shown, max_bytes)
        finally:
            os.close(parent)


class Folder:
    """Reads many files of a tree one after the other; the last folder stays open. Use as a context manager."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._name: str | None = None
        self._handle = -1

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def read(self, relative: str, max_bytes: int) -> bytes | None:
        """The bytes of a regular file; None if it is another thing, longer than `max_bytes`, or can't be read."""
        folder, _, name = relative.rpartition("/")
        try:
            if folder != self._name:
                self._close()
                self._handle, self._name = open_parent(self._root, relative), folder
            handle = os.open(name, FILE, dir_fd=self._handle)
        except OSError:
            return None
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
                return None
            return os.read(handle, status.st_size)
        except OSError:
            return None
        finally:
            os.close(handle)

    def _close(self) -> None:
        if self._name is not None:
            os.close(self._handle)
            self._name = None


def replace_file(root: str, relative: str, shown: str, data: bytes, base: bytes) -> None:
    """Write `data` so that a reader sees the old file or the new one, never a part.

    `base` is the digest that the present content must have, else ToolError `changed`. Mode, owner and extended
    attributes are kept; another hard link to the file keeps the old content.
    """
    with _translated(shown):
        parent = open_parent(root, relative)
        try:
            name = os.path.basename(relative)
            before = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not before.st_mode & 0o222:
                mode = stat.S_IMODE(before.st_mode)
                raise ToolError(f"{shown} is read-only (mode {mode:04o})", code="read_only")
            with _temporary(parent, name, data) as (temporary, handle):
                _keep_attributes(parent, name, handle, before)
                os.fsync(handle)
                _swap_in(parent, temporary, name, shown, base, digest_of(data))
        finally:
            os.close(parent)


def _swap_in(parent: int, temporary: str, name: str, shown: str, base: bytes, ours: bytes) -> None:
    """Put `temporary` in the place of `name` if that still has the digest `base`.

    The two are swapped and what came out is looked at, so that a version which somebody moved in at the last moment is
    noticed and swapped back. Without such a swap the content is compared right before the move.
    """
    if _read_at(parent, name, shown, _NO_LIMIT).digest != base:
        raise changed(shown)
    if not exchange(parent, temporary, name):
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        return
    if _digest_at(parent, temporary, shown) == base:
        return
    exchange(parent, temporary, name)
    if _digest_at(parent, temporary, shown) != ours:
        # What came out is even newer than the version just put back.
        exchange(parent, temporary, name)
    raise changed(shown)


def _digest_at(parent: int, name: str, shown: str) -> bytes | None:
    """None if there is no regular file any more."""
    try:
        return _read_at(parent, name, shown, _NO_LIMIT).digest
    except (ToolError, FileRefused, OSError):
        return None


class Created(msgspec.Struct, frozen=True):
    """The mode of a new file, and the folders that were made for it, outermost first."""

    mode: int
    folders: tuple[str, ...]


def create_file(root: str, relative: str, shown: str, data: bytes, mode: int | None) -> Created:
    """A new file with all of `data`, and its missing parent folders.

    Raises ToolError `changed` if the name is taken. `mode` None: as the umask says.
    """
    with _translated(shown):
        folders: list[str] = []
        parent = _make_parent(root, relative, folders)
        try:
            name = os.path.basename(relative)
            with _temporary(parent, name, data) as (temporary, handle):
                if mode is not None:
                    os.fchmod(handle, mode)
                os.fsync(handle)
                try:
                    os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
                except FileExistsError as error:
                    raise changed(shown) from error
                return Created(stat.S_IMODE(os.fstat(handle).st_mode), tuple(folders))
        finally:
            os.close(parent)


def remove_file(root: str, relative: str, shown: str, base: bytes) -> None:
    """Delete the file if its content still has the digest `base`; else ToolError `changed`."""
    with _translated(shown):
        parent = open_parent(root, relative)
        try:
            name = os.path.basename(relative)
            if _read_at(parent, name, shown, _NO_LIMIT).digest != base:
                raise changed(shown)
            os.unlink(name, dir_fd=parent)
        finally:
            os.close(parent)


def change_mode(root: str, relative: str, shown: str, base: int, mode: int) -> None:
    """Give the file other permission bits if it has those of `base`; else ToolError `changed`."""
    with _translated(shown):
        parent = open_parent(root, relative)
        try:
            handle = os.open(os.path.basename(relative), FILE, dir_fd=parent)
            try:
                if stat.S_IMODE(os.fstat(handle).st_mode) != base:
                    raise changed(shown)
                os.fchmod(handle, mode)
            finally:
                os.close(handle)
        finally:
            os.close(parent)


def changed(shown: str) -> ToolError:
    return ToolError(f"{shown} changed on disk in the meantime; nothing was written", code="changed")


_NO_LIMIT = 1 << 62


class _translated:
    """Turns the errors of the system into ToolErrors that name the file."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            error = translated(error, self._shown)
        if isinstance(error, FileRefused):
            raise ToolError(error.message, code=error.code) from error


def remove_empty(root: str, folders: Sequence[str]) -> None:
    """Remove folders, innermost first, as long as nothing is in them."""
    for folder in reversed(folders):
        try:
            parent = open_parent(root, folder)
        except OSError:
            return
        try:
            os.rmdir(os.path.basename(folder), dir_fd=parent)
        except OSError:
            return
        finally:
            os.close(parent)


def _make_parent(root: str, relative: str, made: list[str]) -> int:
    """The folder of a path; what is missing of it is made and put into `made`."""
    parts = relative.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        path = "/".join(parts[:depth])
        parent = open_parent(root, path)
        try:
            with suppress(FileExistsError):
                os.mkdir(parts[depth - 1], dir_fd=parent)
                made.append(path)
        finally:
            os.close(parent)
    return open_parent(root, relative)


def _read_at(parent: int, name: str, shown: str, max_bytes: int) -> Snapshot:
    handle, status = open_at(parent, name, shown)
    try:
        if status.st_size > max_bytes:
            raise ToolError(
                f"{shown} has {status.st_size:,} bytes, the limit is {max_bytes:,}; print a part of it by a command",
                code="too_large",
            )
        data = read_handle(handle, max_bytes + 1)
    finally:
        os.close(handle)
    if len(data) > max_bytes:
        raise ToolError(f"{shown} grows while it is read", code="too_large")
    return Snapshot(data, stat.S_IMODE(status.st_mode), digest_of(data))


@contextmanager
def _temporary(parent: int, name: str, data: bytes) -> Iterator[tuple[str, int]]:
    """A file in the same folder that holds `data`: its name and an open handle. What is left of it goes at the end."""
    temporary = f".{name[:64]}{TEMPORARY_MARK}{secrets.token_hex(6)}"
    handle = os.open(temporary, _NEW, 0o666, dir_fd=parent)
    try:
        _write_all(handle, data)
        yield temporary, handle
    finally:
        os.close(handle)
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _keep_attributes(parent: int, name: str, handle: int, before: os.stat_result) -> None:
    with suppress(PermissionError):
        os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode))
    if not hasattr(os, "listxattr"):
        return
    old = os.open(name, FILE, dir_fd=parent)
    try:
        for attribute in os.listxattr(old):
            with suppress(OSError):
                os.setxattr(handle, attribute, os.getxattr(old, attribute))
    except OSError:
        return
    finally:
        os.close(old)
