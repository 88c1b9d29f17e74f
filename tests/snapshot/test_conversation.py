"""How the conversation looks: fixed events, no clock, drawn by hand.

`pytest tests/snapshot --snapshot-update` accepts a new look, after it was looked at (`--snapshot-report FILE`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agent_core.turns.events import TurnEvent
from dashboard.agent.paint.status import Standing
from tests.snapshot.test_tabs import SnapCompare
from tests.support.agent_page import PageApp, story, turn_ended
from tests.support.waiting import eventually

STANDING = Standing(
    model="gpt-5.5", effort="high", mode="act", approve="ask", branch="main", context_tokens=28_800,
    context_size=160_000, rate=812.0, ttft_ms=92.0, cache_ratio=0.94, reuse="reused", cost_usd=0.41, doing="● works",
)  # fmt: skip


class Still(PageApp):
    """With figures that stay."""

    def standing(self) -> Standing:
        return STANDING


def told(app: Still, *events: TurnEvent, keys: tuple[str, ...] = ()) -> Callable[[Pilot[int]], Awaitable[None]]:
    async def run(pilot: Pilot[int]) -> None:
        app.tell(*events)
        await pilot.pause()
        if app.talk.page.open_approvals:
            await eventually(lambda: app.conversation.focused is app.conversation.question, 20)
        for key in keys:
            await pilot.press(key)
        app.conversation.draw()
        await pilot.pause()

    return run


@pytest.mark.parametrize("size", [(100, 46), (60, 24)], ids=["100x46", "60x24"])
def test_a_question(snap_compare: SnapCompare, tmp_path: Path, size: tuple[int, int]) -> None:
    app = Still(tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=told(app, *story()))


@pytest.mark.parametrize("theme", ["loopline-light", "ansi-dark"])
def test_a_turn_that_ended(snap_compare: SnapCompare, tmp_path: Path, theme: str) -> None:
    app = Still(tmp_path, theme=theme)
    keys = ("ctrl+up", "ctrl+up", "ctrl+o", *"/m")
    assert snap_compare(app, terminal_size=(100, 50), run_before=told(app, *story()[:-1], turn_ended(), keys=keys))


def test_nothing_yet(snap_compare: SnapCompare, tmp_path: Path) -> None:
    app = Still(tmp_path)
    assert snap_compare(app, terminal_size=(80, 24), run_before=told(app))
