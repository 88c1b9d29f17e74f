"""Processes on pseudo terminals, as a person sits before them."""

from __future__ import annotations

import codecs
import os
import pty
import signal
import subprocess
import termios
import threading
import time
from pathlib import Path

from dashboard.state.format import clean

WAIT_S = 60.0
REDRAW_S = 3.0


def clean_environment() -> dict[str, str]:
    """The environment without keys and settings of whoever runs the tests."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("LOOPLINE_", "OPENAI_", "TEXTUAL"))
    }


class Terminal:
    """A process on a pseudo terminal of 120 x 32, with a state, runtime and configuration folder of its own. `close`
    it. Like a real terminal it always reads: a process whose output nobody takes stops in the middle of a write."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._main, child = pty.openpty()
        self._rows = 32
        termios.tcsetwinsize(child, (self._rows, 120))
        places = {f"XDG_{name}": str(folder) for name in ("STATE_HOME", "CONFIG_HOME")}
        self.process = subprocess.Popen(
            command,
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
            env={**clean_environment(), **places, "XDG_RUNTIME_DIR": str(folder / "run"), "TERM": "xterm-256color"},
        )
        os.close(child)
        self.shown = ""
        """All that was written so far, without colours and cursor movements."""
        self._begun, self._decoder = "", codecs.getincrementaldecoder("utf-8")("replace")
        self._told = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                written = os.read(self._main, 65_536)
            except OSError:  # how Linux says that the other end is closed
                written = b""
            with self._told:
                self._take(written)
                self._told.notify_all()
            if not written:
                return

    def _take(self, written: bytes) -> None:
        """A sequence may come in two pieces, so what follows the last of their beginnings waits for more."""
        self._begun += self._decoder.decode(written)
        cut = max(0, self._begun.rfind("\x1b")) if written else len(self._begun)
        self.shown, self._begun = self.shown + clean(self._begun[:cut]), self._begun[cut:]

    def until(self, text: str) -> None:
        """Wait until `text` was written, colours and cursor movements aside. Of what is on the screen already only what
        changes is written, so now and then all of it is asked for by another size."""
        give_up = time.monotonic() + WAIT_S
        redraw = time.monotonic() + REDRAW_S
        with self._told:
            while text not in self.shown + clean(self._begun):
                assert time.monotonic() < give_up, self.shown[-2000:]
                if time.monotonic() > redraw:
                    redraw = time.monotonic() + REDRAW_S
                    self._rows = 65 - self._rows
                    termios.tcsetwinsize(self._main, (self._rows, 120))
                    self.process.send_signal(signal.SIGWINCH)
                self._told.wait(0.2)
                assert self.process.poll() is None, self.shown[-2000:]

    def press(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def end(self) -> int:
        """Its exit code, once it ended by itself."""
        return self.process.wait(WAIT_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        os.close(self._main)
