"""Confinement without bubblewrap, for Linux: a small program that confines itself and becomes the command.

Where namespaces can be had (as root, or by a user namespace) it mounts what the command may find, and gives it
processes, terminals and a network of its own, as bubblewrap does. Landlock(7) then holds writes once more. Without
namespaces Landlock is all: it allows by listing, so what may be read is everything but the secret places, spelled out
as their neighbours, and what lies in a folder that may be written can't be kept from being written.
In both cases: no capabilities but those that files of others need as root, no new privileges, a filter of system calls.
Run as a program with a JSON specification and the command as arguments; needs nothing but the standard library.
"""

# Plain calls: this program starts with each command.
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH118, PTH120
# ruff: noqa: PTH123, PTH208, PTH211

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

_START = f"import sys; sys.path.append(sys.argv[1]); import {__name__.rpartition('.')[2]} as it; it.main(sys.argv[2:])"
"""As a module, which is compiled once, and behind the standard library, so that no file here stands for one of it."""

NEEDED_VERSION = 3
"""From here on it also holds truncation and moving between folders."""

CAPABILITIES = (0, 1, 3, 4, 5, 6, 7)
"""What root keeps inside (chown, dac_override, fowner, fsetid, kill, setgid, setuid): files of others in the workspace
stay usable, mounts and devices stay out of reach."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_OPEN_TREE, _MOVE_MOUNT, _SET_ATTRIBUTES = 428, 429, 442
_PATH_BENEATH = 1
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files, list folders
_ALL_V3 = (1 << 15) - 1
_IOCTL_DEVICE = 1 << 15  # from version 5
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | _IOCTL_DEVICE
_TCP = 0b11  # bind and connect, from version 4
_SCOPES = 0b11  # abstract sockets and signals stay inside, from version 6
_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER = 0x20000, 0x4000000, 0x8000000, 0x10000000
_NEW_PID, _NEW_NET = 0x20000000, 0x40000000
_NO_NEW_PRIVILEGES, _SECCOMP, _DROP_BOUND, _READ_BOUND, _AMBIENT = 38, 22, 24, 23, 47
_UP, _GET_FLAGS, _SET_FLAGS = 0x1, 0x8913, 0x8914
_HERE, _RECURSIVE, _CLONE, _CLOSE = -100, 0x8000, 1, 0o2000000
_FROM_HANDLE = 0x4
_READ_ONLY, _NO_SUID, _NO_DEVICES = 1, 2, 4
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_SLAVE = 2, 4, 8, 0x4000, 0x80000
_CAPABILITY_V3 = 0x20080522
_NODES = ("null", "zero", "full", "random", "urandom", "tty")
SAFE_DEVICES = (*(f"/dev/{name}" for name in _NODES if name != "tty"), "/dev/shm")
"""What may be read and written of /dev outside of namespaces; never a terminal, and no disk."""


def version() -> int:
    """Landlock's version in this kernel; 0 or less where there is none."""
    if sys.platform != "linux":
        return 0
    return int(_libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def argv(spec: Mapping[str, Any], command: Sequence[str]) -> list[str]:
    """How to start `command` confined. `spec`: `mounts` (kind, path, source; None: no namespaces), `read` and `write`
    (lists of paths for Landlock), `network`, `filter` (hex) and `cwd`."""
    return [sys.executable, "-I", "-S", "-c", _START, os.path.dirname(__file__), json.dumps(spec), *command]


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
            children = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        except OSError:
            continue
        waiting += [child for child in children if child not in hidden and not os.path.islink(child)]
    return sorted(found)


def main(arguments: Sequence[str]) -> None:
    """Confine this process and become the command, or wait for it and end as it did. Raises OSError, before anything
    ran, where it can't be confined."""
    spec = json.loads(arguments[0])
    libc = _libc()
    if spec["mounts"] is None:
        _become(libc, spec, arguments[1:], alone=spec["network"] or _own_network(libc))
    own = _NEW_NS | _NEW_PID | _NEW_IPC | _NEW_UTS | (0 if spec["network"] else _NEW_NET)
    if not _unshare(libc, own):
        _fail("unshare")
    told, tell = os.pipe()
    first = os.fork()
    if first:
        os.close(tell)
        _end_when_told(told, first)
    if not spec["network"]:
        _loopback_up(libc)
    _mount_all(libc, spec["mounts"])
    os.chdir(spec["cwd"])
    command = os.fork()
    if command:
        _be_first(command, tell)
    _become(libc, spec, arguments[1:], alone=True)


def _become(libc: ctypes.CDLL, spec: Mapping[str, Any], command: Sequence[str], *, alone: bool) -> None:
    abi = version()
    rights = _ALL_V3 | (_IOCTL_DEVICE if abi >= 5 else 0)
    net = 0 if alone or abi < 4 else _TCP
    if not alone and abi < 4:
        raise OSError("the network can't be closed here")
    attributes = struct.pack("=QQQ", rights, net, _SCOPES if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _call(libc, _CREATE, attributes, size, 0)
    for path in spec["read"]:
        _allow(libc, ruleset, path, _READ)
    devices = SAFE_DEVICES if spec["mounts"] is None else ("/dev",)
    for path in (*spec["write"], *devices):
        _allow(libc, ruleset, path, rights)
    _drop_capabilities(libc)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _call(libc, _RESTRICT, ruleset, 0)
    os.close(ruleset)
    if spec["filter"]:
        _filter(libc, bytes.fromhex(spec["filter"]))
    os.execvpe(command[0], list(command), os.environ)


def _unshare(libc: ctypes.CDLL, own: int) -> bool:
    """Namespaces of our own; by a user namespace where we are not allowed to otherwise."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(own) == 0:
        return True
    if libc.unshare(own | _NEW_USER) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        except OSError:
            if name != "setgroups":
                raise
    return True


def _own_network(libc: ctypes.CDLL) -> bool:
    """Leave the network for one with loopback only. False where that is not allowed."""
    if not _unshare(libc, _NEW_NET):
        return False
    _loopback_up(libc)
    return True


def _end_when_told(told: int, first: int) -> NoReturn:
    """End with the code that the first process tells us, or as it did itself."""
    if code := os.read(told, 1):
        os._exit(code[0])
    os._exit(_code(os.waitpid(first, 0)[1]))


def _be_first(command: int, tell: int) -> NoReturn:
    """The first process of the namespace: everything in it ends with us, so we stay while somebody is left."""
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            os._exit(0)
        if pid == command:
            os.write(tell, bytes([_code(status)]))


def _code(status: int) -> int:
    """As a shell would report it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _mount_all(libc: ctypes.CDLL, mounts: Sequence[Sequence[str]]) -> None:
    """mount_setattr(2), open_tree(2), move_mount(2): everything is copied first, then all is made read-only."""
    _mount(libc, None, "/", None, _MS_REC | _MS_SLAVE, None)
    copies = [_copy(libc, source or path) if kind != "empty" else -1 for kind, path, source in mounts]
    nodes = {name: _copy(libc, f"/dev/{name}") for name in _NODES if os.path.exists(f"/dev/{name}")}
    empty_files = [kind == "empty" and not os.path.isdir(path) for kind, path, _ in mounts]
    nothing = [_copy(libc, "/dev/null") if empty else -1 for empty in empty_files]
    _set(libc, "/", _READ_ONLY | _NO_SUID | _NO_DEVICES)
    _mount(libc, "proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None)
    _mount(libc, "tmpfs", "/dev", "tmpfs", _MS_NOSUID, "mode=755,size=64m")
    for name, handle in nodes.items():
        _touch(f"/dev/{name}")
        _attach(libc, handle, f"/dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"/dev/{name}")
    os.chmod("/dev/shm", 0o1777)
    _mount(libc, "devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
             "stderr": "/proc/self/fd/2"}  # fmt: skip
    for name, target in links.items():
        os.symlink(target, f"/dev/{name}")
    for (kind, path, _), copy, empty in zip(mounts, copies, nothing, strict=True):
        if kind == "empty" and empty < 0:
            if os.path.isdir(path):
                _mount(libc, "tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=1m")
            continue
        handle = empty if kind == "empty" else copy
        if handle < 0:
            continue
        if not os.path.lexists(path):
            os.makedirs(path) if os.path.isdir(f"/proc/self/fd/{handle}") else _touch(path)
        _attach(libc, handle, path)
        if kind != "empty":
            _set(libc, path, _NO_SUID | _NO_DEVICES | (_READ_ONLY if kind == "read" else 0))


def _copy(libc: ctypes.CDLL, path: str) -> int:
    """A handle on a copy of what is mounted at a path; -1 if it is gone by now."""
    if not os.path.lexists(path):
        return -1
    return _call(libc, _OPEN_TREE, _HERE, os.fsencode(path), _CLONE | _CLOSE | _RECURSIVE)


def _attach(libc: ctypes.CDLL, handle: int, path: str) -> None:
    _call(libc, _MOVE_MOUNT, handle, b"", _HERE, os.fsencode(path), _FROM_HANDLE)
    os.close(handle)


def _set(libc: ctypes.CDLL, path: str, attributes: int) -> None:
    _call(libc, _SET_ATTRIBUTES, _HERE, os.fsencode(path), _RECURSIVE, struct.pack("=QQQQ", attributes, 0, 0, 0), 32)


def _mount(libc: ctypes.CDLL, source: str | None, target: str, kind: str | None, flags: int, data: str | None) -> None:
    words = [None if each is None else os.fsencode(each) for each in (source, target, kind, data)]
    _checked(libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]))


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Root keeps `CAPABILITIES`, everybody else nothing."""
    kept = sum(1 << number for number in CAPABILITIES) if os.geteuid() == 0 else 0
    libc.prctl(_AMBIENT, 4, 0, 0, 0)
    number = 0
    while libc.prctl(_READ_BOUND, number, 0, 0, 0) >= 0:  # until there is no such capability
        if not kept >> number & 1:
            libc.prctl(_DROP_BOUND, number, 0, 0, 0)
        number += 1
    held = _effective(libc) & kept
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_V3, 0))
    data = ctypes.create_string_buffer(struct.pack("=6I", held, held, 0, 0, 0, 0))
    _checked(libc.capset(header, data))


def _effective(libc: ctypes.CDLL) -> int:
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_V3, 0))
    data = ctypes.create_string_buffer(24)
    _checked(libc.capget(header, data))
    return int(struct.unpack("=6I", data.raw[:24])[1])


def _filter(libc: ctypes.CDLL, program: bytes) -> None:
    lines = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(lines)))
    _checked(libc.prctl(_SECCOMP, 2, ctypes.byref(head), 0, 0))


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """A path that is gone by now is left out."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if os.path.isdir(path) else rights & _ON_FILES
        _call(libc, _ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, handle), 0)
    finally:
        os.close(handle)


def _loopback_up(libc: ctypes.CDLL) -> None:
    """netdevice(7). Where it fails the command has no network at all."""
    handle = libc.socket(2, 2, 0)
    request = ctypes.create_string_buffer(struct.pack("=16sH14x", b"lo", 0))
    if handle >= 0:
        libc.ioctl(handle, ctypes.c_ulong(_GET_FLAGS), request)
        flags = struct.unpack("=16sH14x", request.raw[:32])[1]
        request = ctypes.create_string_buffer(struct.pack("=16sH14x", b"lo", flags | _UP))
        libc.ioctl(handle, ctypes.c_ulong(_SET_FLAGS), request)
        os.close(handle)


def _call(libc: ctypes.CDLL, number: int, *arguments: int | bytes) -> int:
    """A system call by number; each integer as wide as a register."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(int(libc.syscall(ctypes.c_long(number), *words)))


def _checked(result: int) -> int:
    if result < 0:
        _fail("")
    return result


def _fail(what: str) -> NoReturn:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), what or None)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
