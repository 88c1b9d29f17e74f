"""Which slot of a llama.cpp server a conversation goes to, so that it finds its own state there. Pure.

The server would choose by likeness of prompts; with one slot for each conversation nothing is chosen wrongly. A slot
that is at work is not waited for while another one is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agent_core.responses_server.engines.upstream.lane import LaneMemory


class Affinity:
    """`count` 0: the server has no slots that one could choose."""

    def __init__(self, count: int) -> None:
        self._running = [0] * count
        self._last_use = [0] * count
        self._uses = 0

    @contextmanager
    def using(self, lane: LaneMemory) -> Iterator[int | None]:
        """The lane's slot for one call."""
        if not self._running:
            yield None
            return
        slot = lane.slot
        if slot is None or (self._running[slot] and 0 in self._running):
            slot = min(range(len(self._running)), key=lambda at: (self._running[at], self._last_use[at]))
        lane.slot = slot
        self._uses += 1
        self._last_use[slot] = self._uses
        self._running[slot] += 1
        try:
            yield slot
        finally:
            self._running[slot] -= 1
