"""A filter of system calls for commands in a sandbox: what neither mounts nor namespaces hold back.

Sockets of families that no network namespace confines (virtual machine sockets), keys of the kernel's keyrings, typing
into a terminal, tracing the kernel. seccomp(2) takes a program for the classic packet filter, bpf(4); numbers of calls
are from the kernel's tables for each machine, families and requests from its headers.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Mapping

_ARCHITECTURES: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS: Mapping[str, Mapping[str, int]] = {
    "x86_64": {"ioctl": 16, "socket": 41, "add_key": 248, "request_key": 249, "keyctl": 250, "perf_event_open": 298,
               "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425},
    "aarch64": {"ioctl": 29, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "perf_event_open": 241,
                "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425},
}  # fmt: skip
_DENIED = ("add_key", "request_key", "keyctl", "perf_event_open", "bpf", "userfaultfd", "io_uring_setup")
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_UNIX, _INET, _INET6, _NETLINK, _STREAM, _TCP = 1, 2, 10, 16, 1, 6
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97

_Line = tuple[int, int, int, int]


def program(*, network: bool, confined: bool, machine: str | None = None) -> bytes:
    """The filter, or b"" for a machine whose calls are not known here. `network`: all sockets are open. `confined`: the
    command has a network namespace and mounts of its own; else only streams over TCP are left, and no local sockets."""
    machine = machine or platform.machine()
    calls = _CALLS.get(machine)
    if calls is None:
        return b""
    lines: list[_Line] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        _fails(_ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        _fails(_ENOSYS),
    ]
    for name in _DENIED:
        lines += [(_EQUAL, 0, 1, calls[name]), _fails(_EPERM)]
    lines += _if(
        calls["ioctl"], [(_LOAD, 0, 0, _argument(1)), *_one_of((_TIOCSTI, _TIOCLINUX), _fails(_EPERM)), _pass()]
    )
    if not network:
        lines += _if(calls["socket"], _sockets(confined))
    lines.append(_pass())
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _sockets(confined: bool) -> list[_Line]:
    load = (_LOAD, 0, 0, _argument(0))
    if confined:
        return [load, *_one_of((_UNIX, _INET, _INET6, _NETLINK), _pass()), _fails(_EAFNOSUPPORT)]
    streams = [
        (_LOAD, 0, 0, _argument(1)),
        (_AND, 0, 0, 0xF),
        (_EQUAL, 1, 0, _STREAM),
        _fails(_EAFNOSUPPORT),
        (_LOAD, 0, 0, _argument(2)),
        *_one_of((0, _TCP), _pass()),
        _fails(_EAFNOSUPPORT),
    ]
    return [load, *_one_of((_NETLINK,), _pass()), *_if_any((_INET, _INET6), streams), _fails(_EAFNOSUPPORT)]


def _if(value: int, then: list[_Line]) -> list[_Line]:
    """`then` if what was loaded is `value`; it must end with a return."""
    return [(_EQUAL, 0, len(then), value), *then]


def _if_any(values: tuple[int, int], then: list[_Line]) -> list[_Line]:
    return [(_EQUAL, 1, 0, values[0]), (_EQUAL, 0, len(then), values[1]), *then]


def _one_of(values: tuple[int, ...], then: _Line) -> list[_Line]:
    return [line for value in values for line in ((_EQUAL, 0, 1, value), then)]


def _argument(index: int) -> int:
    """Where the lower half of an argument stands (little endian on both machines)."""
    return _ARGUMENTS + 8 * index


def _fails(number: int) -> _Line:
    return (_RETURN, 0, 0, _ERROR | number)


def _pass() -> _Line:
    return (_RETURN, 0, 0, _ALLOW)
