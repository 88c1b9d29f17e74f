"""Signals that end a run: the first cancels its task, and a process whose event loop is stuck ends all the same."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STUCK_S = 5.0
"""How long the event loop may take to notice a signal; it then waits inside a call that does not return."""

EXIT = 130


class Cancelled:
    """While entered, the first signal cancels the current task; later ones wait for it to tidy up.

    Enter it in the main thread. `by_signal`: a signal cancelled the task.
    """

    def __init__(self, stuck_s: float = STUCK_S) -> None:
        self.by_signal = False
        self._watch = threading.Timer(stuck_s, _end)
        self._watch.daemon = True

    def __enter__(self) -> Cancelled:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._loop = task, asyncio.get_running_loop()
        # Not `loop.add_signal_handler`: its handlers wait for the loop, which may be what is stuck.
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._watch.cancel()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Runs in the main thread, also while a call of the system waits there."""
        if not self._watch.is_alive() and not self.by_signal:
            self._watch.start()
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._watch.cancel()
        self.by_signal = True
        self._task.cancel()


def _end() -> None:
    os.write(2, b"loopline: ended by a signal while a call of the system did not return\n")
    os._exit(EXIT)
