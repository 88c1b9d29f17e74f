"""`loopline` on a pseudo terminal whose screen is kept as a terminal would show it, and whose keys are real."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pexpect
import pyte

from tests.support.system.cli import environment
from tests.support.terminal.pty import clean_environment

WAIT_S = 90.0
CTRL_C, CTRL_D, CTRL_G, CTRL_Z = "\x03", "\x04", "\x07", "\x1a"
ENTER, ESC, ALT_ENTER, END, F2, FOCUS_LOST = "\r", "\x1b", "\x1b\r", "\x1b[F", "\x1bOQ", "\x1b[O"


class AgentTerminal:
    """`close` it. Columns and rows may change while it runs."""

    def __init__(
        self,
        home: Path,
        folder: Path,
        *arguments: str,
        columns: int = 100,
        rows: int = 30,
        extra: Mapping[str, str] | None = None,
        shell: bool = False,
    ) -> None:
        """`shell`: an interactive shell that was not told to start it yet; `command` is what to type there."""
        (home / "run").mkdir(parents=True, exist_ok=True, mode=0o700)
        env = clean_environment() | environment(home, TERM="xterm-256color", **(extra or {}))
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        self.process: Any = pexpect.spawn(
            "/bin/bash" if shell else sys.executable,
            ["--norc", "--noprofile", "-i"] if shell else ["-m", "agent_core", *arguments],
            cwd=str(folder),
            env=env,
            dimensions=(rows, columns),
            timeout=WAIT_S,
        )
        self.command = shlex.join([sys.executable, "-m", "agent_core", *arguments])
        self.before = termios.tcgetattr(self.process.child_fd)

    @property
    def lines(self) -> list[str]:
        rows, columns = range(self._screen.lines), range(self._screen.columns)
        buffer = self._screen.buffer  # pyte's own `display` stumbles over a wide character that a resize cut in two
        return ["".join(buffer[row][column].data for column in columns).rstrip() for row in rows]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.process.send(key)

    def until(self, wanted: str | Callable[[str], bool]) -> str:
        """Read until the screen shows it; the screen."""
        give_up = time.monotonic() + WAIT_S
        while not (wanted(self.text) if callable(wanted) else wanted in self.text):
            assert time.monotonic() < give_up, f"no {wanted!r} on the screen:\n{self.text}"
            self._read(0.2)
        return self.text

    def ready(self) -> AgentTerminal:
        """The composer is there and the session is open."""
        self.until(lambda text: "›" in text and "starting" not in text and "/help" in text)
        return self

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    def end(self) -> int:
        """Its exit code (128 + the signal that ended it); what it still writes is taken."""
        give_up = time.monotonic() + WAIT_S
        while self.process.isalive():
            assert time.monotonic() < give_up, self.text
            self._read(0.1)
        while self._read(0.1):
            pass
        status = self.process.exitstatus
        return int(status) if status is not None else 128 + int(self.process.signalstatus)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """Kill the process that converses; the one that a shell would wait for is its parent."""
        [child] = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGKILL)

    @property
    def is_given_back(self) -> bool:
        """Whether the terminal is as it was: first screen, cursor shown, no reports, and its settings."""
        attributes = termios.tcgetattr(self.process.child_fd)
        on = {
            name: self.written.rfind(b"\x1b[?%dh" % name) > self.written.rfind(b"\x1b[?%dl" % name)
            for name in (1049, 2004, 1004, 1000, 1003)
        }
        cursor = self.written.rfind(b"\x1b[?25h") >= self.written.rfind(b"\x1b[?25l")
        return not any(on.values()) and cursor and attributes[:4] == self.before[:4]

    def close(self) -> None:
        if self.process.isalive():
            self.process.kill(signal.SIGKILL)
            self.process.wait()
        self.process.close()

    def _read(self, timeout_s: float) -> bool:
        try:
            data = self.process.read_nonblocking(65_536, timeout_s)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.written += data
        self._stream.feed(data)
        return True
