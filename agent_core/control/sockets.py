"""Where control sockets lie, who may use them, and which are stale.

One socket per hosting process, mode 0600, in a folder of mode 0700 that belongs to the user. A socket gets its name
only once it listens, so one that refuses connections belongs to a process that is gone. Who connects says a key first,
which is in a file beside the socket: a command in a sandbox may find a socket's name, but not read that file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import socket
import stat
import struct
import sys
from asyncio.trsock import TransportSocket
from collections.abc import Iterator
from pathlib import Path

from agent_core.control.messages import ControlError

_NAME = re.compile(r"(\d+)-[0-9a-f]{8}\.sock\Z")
_MAX_PATH = 100
"""Bytes of a socket's path that every system takes; a longer one is reached through the folder's descriptor."""


def make_private_dir(folder: Path) -> None:
    """Make `folder` if there is none; only its owner may enter it. Raises `ControlError` if that can't be had."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise ControlError(f"{folder}: not a folder of this user", code="control_refused")
        if stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise ControlError(f"{folder}: no place for a control socket ({error.strerror})") from error


def listen(folder: Path) -> tuple[socket.socket, Path]:
    """A listening socket and its path. Raises `ControlError` if there can be none."""
    make_private_dir(folder)
    path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.sock"
    private = path.with_suffix(".new")
    key = key_file(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short(private) as address:
            listener.bind(address)
        private.chmod(0o600)
        handle = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
        listener.listen(16)
        listener.setblocking(False)
        private.rename(path)
    except OSError as error:
        listener.close()
        private.unlink(missing_ok=True)
        key.unlink(missing_ok=True)
        raise ControlError(f"{folder}: no control socket can be made ({error.strerror or error})") from error
    return listener, path


def dial(path: Path, timeout_s: float = 1.0) -> socket.socket:
    """A connection to a host of this user. Raises `ControlError`: `control_gone` if nobody listens (any more),
    `control_busy` if nobody accepts in time, `control_refused` for another user's socket.
    """
    dialled = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dialled.settimeout(timeout_s)
    try:
        with _short(path) as address:
            dialled.connect(address)
        if peer_uid(dialled) != os.geteuid():
            raise ControlError(f"{path}: belongs to another user")
        dialled.sendall(key_file(path).read_bytes() + b"\n")
    except OSError as error:
        dialled.close()
        busy = isinstance(error, TimeoutError | BlockingIOError)
        raise ControlError(f"{path}: nobody answers there", code="control_busy" if busy else "control_gone") from error
    except ControlError:
        dialled.close()
        raise
    dialled.setblocking(False)
    return dialled


def key_file(path: Path) -> Path:
    """Where the key of the socket at `path` is."""
    return path.with_suffix(".key")


def remove(path: Path) -> None:
    """A socket and its key; neither need be there."""
    for each in (path, key_file(path)):
        with contextlib.suppress(OSError):
            each.unlink()


def list_sockets(folder: Path) -> list[Path]:
    """Sockets by name; whether somebody answers is another question."""
    try:
        return sorted(path for path in folder.iterdir() if _NAME.match(path.name))
    except OSError:
        return []


def clean_stale(folder: Path) -> list[Path]:
    """Remove the sockets of processes that are gone; those removed."""
    removed = []
    for path in list_sockets(folder):
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        probe.settimeout(0.2)
        try:
            with _short(path) as address:
                probe.connect(address)
        except ConnectionRefusedError:
            remove(path)
            removed.append(path)
        except OSError:
            continue
        finally:
            probe.close()
    return removed + _clean_half_made(folder)


def peer_pid(connected: socket.socket | TransportSocket) -> int | None:
    """Process id of the other end when it connected; None where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    try:
        return int(struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))[0])
    except (OSError, struct.error):
        return None


def peer_uid(connected: socket.socket | TransportSocket) -> int | None:
    """User id of the process at the other end; None where the system does not tell."""
    try:
        option = getattr(socket, "SO_PEERCRED", None)
        if option is not None:
            credentials = connected.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
            return int(struct.unpack("3i", credentials)[1])
        # LOCAL_PEERCRED of macOS and the BSDs: version, uid, group count, groups (sys/ucred.h)
        credentials = connected.getsockopt(0, 1, struct.calcsize("2Ih16I"))
        return int(struct.unpack_from("2I", credentials)[1])
    except (OSError, struct.error):
        return None


def _clean_half_made(folder: Path) -> list[Path]:
    removed = []
    for path in folder.glob("*-????????.new"):
        pid = path.name.partition("-")[0]
        if pid.isdigit() and not _runs(int(pid)):
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
    return removed


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """An address for `path` that fits into `sockaddr_un` (108 bytes on Linux, 104 elsewhere)."""
    if len(os.fsencode(path)) <= _MAX_PATH or sys.platform != "linux":
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
