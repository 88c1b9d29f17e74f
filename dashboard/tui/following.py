"""Takes events from a feed into the state, a slice at a time, so that keys are answered meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from agent_core.errors import LooplineError
from dashboard.feed import BATCH, EventFeed, Replay
from dashboard.state.fold import State
from dashboard.state.format import one_line
from dashboard.tui.desk import Desk

SLICE = 250
"""Events folded between two looks at the keyboard, about 5 ms."""


class Following:
    """Owns the feed. `run` it in one task at a time; `older` makes the next run read further back."""

    def __init__(self, desk: Desk, open_feed: Callable[[int], EventFeed], new_state: Callable[[], State]) -> None:
        """`open_feed` takes the number of days of history to read."""
        self._desk, self._open_feed, self._new_state = desk, open_feed, new_state
        self.days = 1
        self.feed = open_feed(self.days)
        self._ended_by = ""

    def now_ns(self) -> int:
        return self.feed.now_ns()

    @property
    def trouble(self) -> str:
        """Why nothing more comes, or what could not be read; "" while all is well."""
        return self._ended_by or (one_line(self.feed.notices[-1], 200) if self.feed.notices else "")

    @property
    def replay(self) -> Replay | None:
        """The feed, if it is a replay."""
        return self.feed if isinstance(self.feed, Replay) else None

    def older(self) -> bool:
        """Start anew with one more day; False if this feed has no older days."""
        if self.replay is not None or self._desk.source != "live":
            return False
        self.days += 1
        self.feed = self._open_feed(self.days)
        self._desk.state = self._new_state()
        return True

    async def run(self) -> None:
        """Until there is nothing more to come. What can't be read is told as `trouble`, not raised."""
        desk, state = self._desk, self._desk.state
        self._ended_by = ""
        try:
            async with contextlib.aclosing(self.feed.batches()) as batches:
                async for batch in batches:
                    desk.reading = desk.source == "live" and len(batch.events) >= BATCH
                    for start in range(0, len(batch.events), SLICE):
                        for event in batch.events[start : start + SLICE]:
                            state.apply(event)
                        await asyncio.sleep(0)
                    for source in batch.ended:
                        state.end_source(source)
        except LooplineError as error:
            self._ended_by = one_line(error.message, 200)
        finally:
            desk.reading = False
        if self.replay is not None:
            desk.source = "replay ended"
