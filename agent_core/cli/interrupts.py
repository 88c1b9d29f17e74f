"""Signals that end a run: the first cancels its task, and a process whose event loop is stuck ends all the same."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NUMBERS = frozenset(map(int, SIGNALS))
STUCK_S = 5.0
"""How long the event loop may take to notice a signal; it then waits inside a call that does not return."""

EXIT = 130


class Cancelled:
    """While entered, the first signal cancels the current task; later ones wait for it to tidy up.

    Enter it in the main thread. `by_signal`: a signal cancelled the task. Owns a thread that hears of signals by the
    interpreter's wake-up pipe: a signal that comes just before a call of the system does not interrupt that call, and
    the handler would wait for its end.
    """

    def __init__(self, stuck_s: float = STUCK_S) -> None:
        self.by_signal = False
        self._watch = threading.Timer(stuck_s, _end)
        self._watch.daemon = True
        self._once = threading.Lock()

    def __enter__(self) -> Cancelled:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._loop = task, asyncio.get_running_loop()
        heard, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self._pipe_before = signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()
        # Not `loop.add_signal_handler`: its handlers wait for the loop, which may be what is stuck.
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        now = signal.set_wakeup_fd(self._pipe_before)
        if now != self._pipe:  # the loop has put its own there meanwhile
            signal.set_wakeup_fd(now)
        os.close(self._pipe)
        self._watch.cancel()

    def _listen(self, heard: int) -> None:
        while numbers := os.read(heard, 64):
            if not _NUMBERS.isdisjoint(numbers):
                self._ask()
        os.close(heard)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Runs in the main thread, also while a call of the system waits there."""
        self._ask()

    def _ask(self) -> None:
        """Once, by whoever comes first. Never waits, since a handler may interrupt another."""
        if self._once.acquire(blocking=False):
            self._watch.start()
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._watch.cancel()
        self.by_signal = True
        self._task.cancel()


def _end() -> None:
    os.write(2, b"loopline: ended by a signal while a call of the system did not return\n")
    os._exit(EXIT)
