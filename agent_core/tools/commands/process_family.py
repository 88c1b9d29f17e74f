"""Which processes belong to a command, also when they left its group: found through Linux's /proc.

A process belongs if it is in the command's session, descends from it, carries the command's mark in its environment,
or holds the command's output pipe. What cleared its environment, closed all files, forked twice and made its own
session is not found; only a sandbox with its own process space can hold that.
"""

# Plain strings: /proc is read many times while processes end.
# ruff: noqa: PTH115, PTH208

from __future__ import annotations

import os
import signal
from contextlib import suppress

import msgspec

MARK = "LOOPLINE_COMMAND"
"""Environment variable that every process of a command inherits."""

_PROC = "/proc"


class Member(msgspec.Struct, frozen=True):
    """A live process. `start_ticks` tells it from a later one with the same number."""

    pid: int
    start_ticks: int


class _Stat(msgspec.Struct, frozen=True):
    state: str
    parent: int
    group: int
    session: int
    start_ticks: int


class Family:
    """The processes of one command. `leader` is its first process, which leads a session of its own."""

    def __init__(self, leader: int, mark: str, output_pipe: int | None = None) -> None:
        self.leader = leader
        self._mark = f"{MARK}={mark}".encode()
        self._pipe = f"pipe:[{os.fstat(output_pipe).st_ino}]" if output_pipe is not None else None
        self._strangers: set[tuple[int, int]] = set()
        first = _stat(leader)
        self._since = first.start_ticks if first is not None else None

    def gone(self) -> bool:
        """True if nobody is left. A process that forks all the time can slip through one look, hardly through two."""
        return not self.members() and not (self.group_lives() and not self._zombies()) and not self.members()

    def _zombies(self) -> bool:
        """True if the group only lives on as dead processes that nobody took note of."""
        table = _table() or {}
        group = [stat for stat in table.values() if stat.group == self.leader]
        return bool(group) and all(stat.state in "ZX" for stat in group)

    def members(self) -> list[Member]:
        """All live processes of the command at this moment; zombies do not count."""
        table = _table()
        if table is None:
            return [Member(self.leader, 0)] if _group_lives(self.leader) else []
        found = {pid for pid, stat in table.items() if stat.session == self.leader or pid == self.leader}
        for pid, stat in table.items():
            known = (pid, stat.start_ticks)
            if pid in found or known in self._strangers or (self._since or 0) > stat.start_ticks:
                continue
            environment = _environment(pid)
            if self._mark in environment or (self._pipe is not None and _holds(pid, self._pipe)):
                found.add(pid)
            elif len(environment) > 1:
                # While a process changes its program, its environment reads as empty: that is no answer.
                self._strangers.add(known)
        _add_descendants(found, table)
        found.discard(os.getpid())
        living = ((pid, table[pid]) for pid in sorted(found) if pid in table and table[pid].state not in "ZX")
        return [Member(pid, stat.start_ticks) for pid, stat in living]

    def group_lives(self) -> bool:
        """True if something is left of the command's first process group. Cheap: one system call."""
        return _group_lives(self.leader)

    def signal(self, *numbers: signal.Signals) -> list[Member]:
        """Send the signals to all members; they are returned."""
        members = self.members()
        for member in members:
            _send(member, numbers)
        # The group as a whole too, which reaches what is forked right now. While it lives, the number is its own.
        for number in numbers if self.group_lives() else ():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, number)
        return members


def kill_marked(prefix: str) -> bool:
    """SIGKILL to all processes whose mark starts with `prefix` and a dot. True if there was one."""
    wanted = f"{MARK}={prefix}.".encode()
    found = False
    for pid, stat in (_table() or {}).items():
        if pid != os.getpid() and any(entry.startswith(wanted) for entry in _environment(pid)):
            _send(Member(pid, stat.start_ticks), (signal.SIGKILL,))
            found = True
    return found


def of_a_command(pid: int) -> bool:
    """Whether a process is, or descends from, a command of any session of this user."""
    table = _table() or {}
    wanted = f"{MARK}=".encode()
    seen: set[int] = set()
    while pid in table and pid not in seen:
        if any(entry.startswith(wanted) for entry in _environment(pid)):
            return True
        seen.add(pid)
        pid = table[pid].parent
    return False


def command_line(member: Member) -> str:
    """What the process was started as, for people; its number if that can't be read."""
    raw = _read(f"{_PROC}/{member.pid}/cmdline")
    words = raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return words[:120] or f"process {member.pid}"


def _table() -> dict[int, _Stat] | None:
    """All processes, or None where there is no /proc."""
    try:
        names = os.listdir(_PROC)
    except OSError:
        return None
    found = ((int(name), _stat(int(name))) for name in names if name.isdecimal())
    return {pid: stat for pid, stat in found if stat is not None}


def _read(path: str) -> bytes:
    """A file of /proc in full; b"" if the process is gone or another's."""
    pieces: list[bytes] = []
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while piece := os.read(handle, 1 << 16):
            pieces.append(piece)
    except OSError:
        return b""
    finally:
        os.close(handle)
    return b"".join(pieces)


def _stat(pid: int) -> _Stat | None:
    raw = _read(f"{_PROC}/{pid}/stat")
    if not raw:
        return None
    # proc(5): the name may hold anything, so count from its closing bracket: state is field 3.
    fields = raw[raw.rfind(b")") + 2 :].split()
    return _Stat(fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def _environment(pid: int) -> list[bytes]:
    return _read(f"{_PROC}/{pid}/environ").split(b"\0")


def _add_descendants(found: set[int], table: dict[int, _Stat]) -> None:
    children: dict[int, list[int]] = {}
    for pid, stat in table.items():
        children.setdefault(stat.parent, []).append(pid)
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)


def _holds(pid: int, pipe: str) -> bool:
    folder = f"{_PROC}/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        with suppress(OSError):
            if os.readlink(f"{folder}/{name}") == pipe:
                return True
    return False


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _send(member: Member, numbers: tuple[signal.Signals, ...]) -> None:
    """Signal exactly this process, never a later one with its number."""
    try:
        handle = os.pidfd_open(member.pid)
    except (AttributeError, OSError):
        return
    try:
        now = _stat(member.pid)
        if now is not None and now.start_ticks == member.start_ticks:
            for number in numbers:
                with suppress(ProcessLookupError, PermissionError):
                    signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)
