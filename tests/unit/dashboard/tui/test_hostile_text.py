"""Events of a hostile source, drawn in every tab and sheet: what reaches the terminal is text."""

from __future__ import annotations

from typing import Any

import msgspec

from agent_core.telemetry.events import Event
from dashboard.tui.desk import TABS
from dashboard.widgets.clean import CLEAN
from tests.support.system.hostile_text import HOSTILE, trouble
from tests.support.telemetry.recorded_feed import recorded_feed
from tests.support.terminal.pictures import dashboard, screen_text, settled

TEXT = "".join(text for name, text in HOSTILE.items() if name not in ("long", "markup", "surrogate")) + "[bold]m[/]"
WRITTEN = {"wall", "time", "at", "status"}


def bent(event: Event) -> Event:
    """The event with the text behind each of its own, names and ids alike."""
    changed: dict[str, Any] = {}
    for field in msgspec.structs.fields(type(event)):
        value = getattr(event, field.name)
        if isinstance(value, str) and field.type in (str, str | None) and field.name not in WRITTEN:
            changed[field.name] = value + TEXT
    return msgspec.structs.replace(event, **changed)


async def test_every_tab_and_sheet_of_the_dashboard() -> None:
    events = [bent(event) for event in recorded_feed()]
    app, _ = dashboard(events)
    async with app.run_test(size=(160, 48)) as pilot:
        await settled(app, len(events))
        tabs = [str(number + 1) for number in range(len(TABS))]
        for keys in (*tabs, "enter", "down", "enter", "escape", "question_mark"):
            await pilot.press(keys)
            await pilot.pause()
            seen = "\n".join(screen_text(app))
            assert seen.strip() and not trouble(seen.encode("utf-8", "backslashreplace")), keys


def test_the_filter_itself_leaves_nothing_of_what_a_widget_forgot() -> None:
    from rich.segment import Segment
    from textual.color import Color

    drawn = CLEAN.apply([Segment("plain "), Segment(TEXT), Segment("═ ✓")], Color(0, 0, 0))
    text = "".join(segment.text for segment in drawn)
    assert text.startswith("plain a") and text.endswith("═ ✓") and "[bold]m[/]" in text
    assert not trouble(text.encode("utf-8", "backslashreplace"))
