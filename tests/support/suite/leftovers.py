"""What a test run started and left: ended when the run ends, however it ends, and by the next run at the latest.

A run has a folder of its own, which every process that it starts inherits in `MARK` and in `TMPDIR`. Beside the run
stands a guard, a process that waits for the run's end (the pipe to it closes even when the run is killed), ends what is
left and removes the folder. Where the guard was killed as well, the next run finds the folder with nobody holding its
lock. Run as a program this is the guard, so it imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "TESTS_OF_LOOPLINE"
PREFIX = "loopline-run-"
LOCK = "lock"
END_S = 2.0
"""How long what is left has between SIGTERM and SIGKILL."""
POLL_S = 0.05


class Run:
    """A running test run. It owns its folder, the folder's lock and the guard."""

    def __init__(self, base: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._lock = (self.folder / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.environ[MARK] = str(self.folder)
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(self.folder)],
            stdin=subprocess.PIPE, start_new_session=True, env={"PATH": os.defpath}, cwd="/",
        )  # fmt: skip

    def end(self) -> None:
        """Let the guard end what is left, and wait for it."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(timeout=10 * END_S)
        self._lock.close()


def state_of(pid: int) -> str:
    """The letter of proc_pid_stat(5). Raises OSError where there is no such process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def processes_of(folder: Path) -> dict[int, str]:
    """Live processes started by the run of `folder`, with their command lines: it is in their environment, their
    arguments, or they stand in it. Zombies do not count."""
    wanted, found = str(folder).encode(), {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            there = (command, (entry / "environ").read_bytes(), os.fsencode((entry / "cwd").readlink()))
            state = state_of(int(entry.name))
        except OSError:
            continue
        if state != "Z" and any(wanted in each for each in there):
            found[int(entry.name)] = command.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return found


def end(folder: Path, spared: frozenset[int] = frozenset()) -> None:
    """End what the run of `folder` left, and remove the folder."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        give_up = time.monotonic() + END_S
        # looked for again each time: what is ended may have started another meanwhile
        while (left := processes_of(folder).keys() - spared) and time.monotonic() < give_up:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            time.sleep(POLL_S)
    shutil.rmtree(folder, ignore_errors=True)


def end_abandoned(base: Path) -> None:
    """End what runs left that are gone together with their guards."""
    for folder in abandoned(base):
        end(folder)


def abandoned(base: Path) -> Iterator[Path]:
    """Folders of runs whose lock nobody holds."""
    for folder in base.glob(f"{PREFIX}*"):
        try:
            with (folder / LOCK).open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        except OSError:
            # just being made or removed, or another user's
            continue
        yield folder


def guard(folder: Path) -> None:
    """Wait until the run is over, then end what it left. Signals of its terminal are for the run, not for its guard."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end(folder)


if __name__ == "__main__":
    guard(Path(sys.argv[1]))
