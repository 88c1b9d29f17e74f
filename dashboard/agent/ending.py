"""Signals that end the interactive session: it ends in order, and where it is stuck the terminal is given back all the
same."""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
STUCK_S = 8.0
"""How long ending in order may take."""
EXIT = 130

_BACK = b"\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1004l\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?7h\x1b[<u\x1b[0m"
"""Leave the second screen; show the cursor; no pastes, focus or mouse told; wrap lines; keys and colours as before."""


class Ending:
    """While entered, the first signal calls `end` on the event loop. Enter it in the main thread; owns the handlers."""

    def __init__(self, end: Callable[[], None], stuck_s: float = STUCK_S) -> None:
        self.by_signal = False
        self._end = end
        self._stuck = threading.Timer(stuck_s, self._give_up)
        self._stuck.daemon = True
        self._attributes: list[Any] | None = None

    def __enter__(self) -> Ending:
        try:
            self._attributes = termios.tcgetattr(sys.stdin.fileno())
        except (termios.error, ValueError, OSError):
            self._attributes = None
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._stuck.cancel()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self.by_signal:
            self.by_signal = True
            self._stuck.start()
            self._end()

    def _give_up(self) -> None:
        give_back(self._attributes)
        os._exit(EXIT)


def give_back(attributes: list[Any] | None) -> None:
    """Make the terminal as it was, whatever was drawn on it; `attributes` are its settings from before, None: not
    known."""
    try:
        os.write(1, _BACK)
        if attributes is not None:
            termios.tcsetattr(0, termios.TCSANOW, attributes)
    except (OSError, termios.error):
        pass
