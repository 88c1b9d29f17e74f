"""The terminal dashboard on a feed that is told by hand, drawn by hand: the same picture on every run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from tests.support.system.waiting import eventually

os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"

from textual.app import App
from textual.pilot import Pilot

from agent_core.telemetry.events import Event
from dashboard.feed import Batch, EventFeed
from dashboard.tui.app import Dashboard
from dashboard.tui.control import ControlLink
from dashboard.tui.screens.main import MainScreen
from tests.support.telemetry.recorded_feed import now_after, recorded_feed


class HandFeed:
    """Gives what it was given, then what `put` adds; `now` is set by hand."""

    def __init__(self, events: Sequence[Event], now_ns: int) -> None:
        self.events, self.now = list(events), now_ns
        self.notices: list[str] = []
        self._waiting: asyncio.Queue[Batch] = asyncio.Queue()
        self._waiting.put_nowait(Batch(list(events)))
        self.taken = asyncio.Event()

    def put(self, *events: Event, ended: Sequence[str] = ()) -> None:
        self.events.extend(events)
        self._waiting.put_nowait(Batch(list(events), list(ended)))

    def now_ns(self) -> int:
        return self.now

    async def batches(self) -> AsyncGenerator[Batch, None]:
        while True:
            yield await self._waiting.get()

    def history(self) -> Iterator[Event]:
        return iter(self.events)


def dashboard(
    events: Sequence[Event] | None = None,
    *,
    control: ControlLink | None = None,
    source: str = "live",
    folder: Path | None = None,
    flush_by_hand: bool = True,
    theme: str | None = None,
) -> tuple[Dashboard, HandFeed]:
    """The app on the recorded feed (or `events`), a moment after its last event."""
    events = recorded_feed() if events is None else events
    feed = HandFeed(events, now_after(list(events)) if events else now_after(recorded_feed()))

    def open_feed(days: int) -> EventFeed:
        return feed

    app = Dashboard(
        open_feed, zone=UTC, source=source, control=control, folder=folder, flush_by_hand=flush_by_hand
    )  # fmt: skip
    app.desk.can_answer = True  # drawn as for live sessions, whether or not there is one
    if theme is not None:
        app.theme = theme
    return app, feed


async def settled(app: Dashboard, folded: int) -> MainScreen:
    """Wait until `folded` events are in the state, then draw."""
    await eventually(lambda: app.desk.state.events >= folded)
    screen = app.main
    screen.flush()
    return screen


def screen_text(app: App[Any]) -> list[str]:
    """What is on screen, line by line, as a terminal would show it without colours."""
    width, height = app.size
    lines = app.screen._compositor.render_strips(app.size)
    assert len(lines) == height
    return [strip.crop(0, width).text for strip in lines]


def after(app: Dashboard, feed: HandFeed, *keys: str) -> Callable[[Pilot[int]], Awaitable[None]]:
    """What to do before a picture is taken: all events folded, `keys` pressed one by one, everything drawn."""

    async def run(pilot: Pilot[int]) -> None:
        screen = await settled(app, len(feed.events))
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        if app.screen is screen:
            screen.flush()
        await pilot.pause()

    return run
