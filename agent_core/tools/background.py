"""Work off the event loop that stays stoppable: a thread that looks at its stop mark in short slices."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """Raised inside the thread by `Job.tick` once nobody waits any more."""


class Job:
    """What a piece of work sees of its limits. `late`: the time limit is over; end with what there is."""

    def __init__(self, limit_s: float) -> None:
        self._ends = time.monotonic() + limit_s
        self._stop = threading.Event()

    @property
    def late(self) -> bool:
        return time.monotonic() >= self._ends

    def tick(self) -> None:
        """Call at least every few milliseconds of work. Raises Stopped."""
        if self._stop.is_set():
            raise Stopped

    def stop(self) -> None:
        self._stop.set()


async def off_loop(work: Callable[[Job], T], limit_s: float) -> T:
    """Run `work` in a thread. When the caller is cancelled the thread ends at its next tick."""
    job = Job(limit_s)
    try:
        return await asyncio.to_thread(work, job)
    finally:
        job.stop()
