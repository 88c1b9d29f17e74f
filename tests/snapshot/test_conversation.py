"""How the conversation looks: fixed events, no clock, drawn by hand.

`pytest tests/snapshot --snapshot-update` accepts a new look, after it was looked at (`--snapshot-report FILE`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agent_core.turns.events import TurnEvent
from dashboard.agent.overview import Overview
from dashboard.agent.paint.status import Standing
from dashboard.state.fold import State
from tests.snapshot.test_tabs import SnapCompare
from tests.support.system.waiting import eventually
from tests.support.telemetry.recorded_feed import now_after, recorded_feed
from tests.support.terminal.conversation_page import PageApp, story, turn_ended

ROOM = Path(__file__).parents[2] / "dashboard" / "agent"
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


def overview() -> Overview:
    """The back of the conversation on the recorded feed."""
    events = recorded_feed()
    state, now_ns = State().apply_all(events), now_after(events)
    return Overview(state, lambda: None, lambda: now_ns, {})


@pytest.mark.parametrize("key", ["1", "3"])
def test_turned_over(snap_compare: SnapCompare, tmp_path: Path, key: str) -> None:
    app = Still(tmp_path)

    async def turn(pilot: Pilot[int]) -> None:
        await app.push_screen(overview())
        await pilot.pause()
        await pilot.press(key)
        await pilot.pause()

    assert snap_compare(app, terminal_size=(100, 30), run_before=turn)


async def draw(folder: Path, name: str) -> str:
    """An SVG without what differs from run to run and what would be loaded from elsewhere."""
    app = Still(folder)
    async with app.run_test(size=(100, 34)) as pilot:
        if name == "waterfall":
            await app.push_screen(overview())
            await pilot.pause()
        else:
            events = story() if name == "question" else [*story()[:-3], turn_ended()]
            await told(app, *events, keys=() if name == "question" else (*"/m",))(pilot)
        svg = app.export_screenshot(title="loopline", simplify=True)
    svg = re.sub(r"\bterminal-\d+-", "terminal-", re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL))
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


@pytest.mark.parametrize("name", ["conversation", "question", "waterfall"])
async def test_the_picture_in_the_readme_is_what_it_looks_like(tmp_path: Path, name: str) -> None:
    path = ROOM / "pictures" / f"{name}.svg"
    drawn = await draw(tmp_path, name)
    if os.environ.get("LOOPLINE_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn)
    assert path.read_text() == drawn, f"{path} shows an earlier look; LOOPLINE_PICTURES=1 draws it anew"
    assert f"](pictures/{name}.svg)" in (ROOM / "README.md").read_text()


def test_nothing_yet(snap_compare: SnapCompare, tmp_path: Path) -> None:
    app = Still(tmp_path)
    assert snap_compare(app, terminal_size=(80, 24), run_before=told(app))
