"""Which process hosts a session: a lock file beside the session's history.

The kernel holds the lock (flock) as long as the host lives, whatever it dies of, so a dead host's session can be taken
over at once and a process id that came back means nothing. What the file says (pid, control socket) is for people and
for those who want to attach.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

import msgspec

from agent_core.control.messages import ControlError
from agent_core.text import to_json

LOOKS, LOOK_S = 5, 0.004
"""A taken lock is looked at this often, this far apart: `read_holder` holds it for an instant while it looks."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The process that hosts a session. `socket` is its control socket, None if it offers none."""

    pid: int
    since: str
    """RFC 3339."""
    socket: str | None = None


class SessionHeld(ControlError):
    """Another process hosts the session. `holder` says which; None if it has not said so yet."""

    code = "control_session_held"

    def __init__(self, path: Path, holder: Holder | None) -> None:
        who = f"process {holder.pid}" if holder is not None else "another process"
        super().__init__(f"{path.stem}: hosted by {who}", hint="attach to it, or end that process")
        self.holder = holder


class SessionLock:
    """Held from construction to `release`. `took_over` tells that an earlier host ended without releasing it."""

    def __init__(self, path: Path, holder: Holder) -> None:
        """Raises `SessionHeld` if another process (or another part of this one) holds it, OSError if the file can't be
        written."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = path
        self._fd = _take(path)
        self.took_over = os.fstat(self._fd).st_size > 0
        self.write(holder)

    def write(self, holder: Holder) -> None:
        """Say who holds it, e.g. once the control socket is known."""
        data = to_json(holder)
        os.pwrite(self._fd, data, 0)
        os.ftruncate(self._fd, len(data))

    def release(self) -> None:
        """Give the session up; a second call does nothing."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._fd)
            self._fd = -1


def read_holder(path: Path) -> Holder | None:
    """Who hosts the session now; None if nobody does, or who does has not said so yet."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(fd)
    else:
        return None
    finally:
        os.close(fd)


def _take(path: Path) -> int:
    tries_left = LOOKS
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(fd)
            os.close(fd)
            tries_left -= 1
            if tries_left == 0:
                raise SessionHeld(path, holder) from None
            time.sleep(LOOK_S)
            continue
        # whoever released the lock removed the file: what is locked here must be what the path names
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), path.stat()):
                return fd
        os.close(fd)


def _read(fd: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(fd, 4096, 0), type=Holder)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return None
