"""Confinement by Landlock, for Linux without bubblewrap: a small program that confines itself and becomes the command.

Landlock(7) allows by listing: what may be read is everything but the secret places, spelled out as their neighbours.
Network: a network namespace of its own with nothing but loopback where that can be had, else TCP is closed by Landlock.
Run as a program with a JSON specification and the command as arguments; needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NEEDED_VERSION = 3
"""From here on it also holds truncation and moving between folders."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH = 1
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files, list folders
_ALL_V3 = (1 << 15) - 1
_IOCTL_DEVICE = 1 << 15  # from version 5
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | _IOCTL_DEVICE
_TCP = 0b11  # bind and connect, from version 4
_SCOPES = 0b11  # abstract sockets and signals stay inside, from version 6
_NEW_NET, _NEW_USER = 0x40000000, 0x10000000
_NO_NEW_PRIVILEGES = 38
_UP, _GET_FLAGS, _SET_FLAGS = 0x1, 0x8913, 0x8914
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/ptmx", "/dev/pts",
            "/dev/shm")  # fmt: skip


def version() -> int:
    """Landlock's version in this kernel; 0 or less where there is none."""
    if sys.platform != "linux":
        return 0
    return int(_libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def argv(spec: Mapping[str, Any], command: Sequence[str]) -> list[str]:
    """How to start `command` confined. `spec`: `read` and `write` are lists of paths, `network` a boolean."""
    return [sys.executable, "-I", "-S", __file__, json.dumps(spec), *command]


def all_but(hidden: Sequence[str]) -> list[str]:
    """Paths that together are all that there is, without those in `hidden`."""
    found: list[str] = []
    waiting = ["/"]
    while waiting:
        folder = waiting.pop()
        if not any(place.startswith(folder.rstrip("/") + "/") for place in hidden):
            found.append(folder)
            continue
        try:
            children = sorted(os.path.join(folder, name) for name in os.listdir(folder))  # noqa: PTH118, PTH208
        except OSError:
            continue
        waiting += [child for child in children if child not in hidden and not Path(child).is_symlink()]
    return sorted(found)


def main(arguments: Sequence[str]) -> None:
    """Confine this process and become the command. Raises OSError, before anything ran, where it can't be confined."""
    spec = json.loads(arguments[0])
    libc = _libc()
    abi = version()
    alone = spec["network"] or _own_network(libc)
    rights = _ALL_V3 | (_IOCTL_DEVICE if abi >= 5 else 0)
    net = 0 if alone or abi < 4 else _TCP
    if not alone and abi < 4:
        raise OSError("the network can't be closed here")
    attributes = struct.pack("=QQQ", rights, net, _SCOPES if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _checked(libc.syscall(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    for path in spec["read"]:
        _allow(libc, ruleset, path, _READ)
    for path in (*spec["write"], *_DEVICES):
        _allow(libc, ruleset, path, rights)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)
    os.execvpe(arguments[1], list(arguments[1:]), os.environ)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """A path that is gone by now is left out."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if Path(path).is_dir() else rights & _ON_FILES
        rule = struct.pack("=Qi", allowed, handle)
        _checked(libc.syscall(_ADD, ruleset, ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)))
    finally:
        os.close(handle)


def _own_network(libc: ctypes.CDLL) -> bool:
    """Leave the network for one with loopback only. False where that is not allowed."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_NET) != 0:
        if libc.unshare(_NEW_USER | _NEW_NET) != 0:
            return False
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(handle, _GET_FLAGS, request))[1]
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))
    return True


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main(sys.argv[1:])
