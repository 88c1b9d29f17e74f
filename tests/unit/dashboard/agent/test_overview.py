"""The conversation turned over, and back."""

from __future__ import annotations

from pathlib import Path

from dashboard.agent.overview import PANELS, Overview
from dashboard.state.fold import State
from tests.support.system.waiting import eventually
from tests.support.telemetry.recorded_feed import now_after, recorded_feed
from tests.support.terminal.conversation_page import PageApp, asked, began
from tests.support.terminal.pictures import screen_text


async def test_panels_turns_and_back(tmp_path: Path) -> None:
    app, events = PageApp(tmp_path), recorded_feed()
    state, now_ns = State().apply_all(events), now_after(events)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.push_screen(Overview(state, lambda: None, lambda: now_ns, {}))
        await pilot.pause()
        assert "turn 8.19 s" in "\n".join(screen_text(app))
        for number, panel in enumerate(PANELS, 1):
            await pilot.press(str(number))
            assert f"[{number} {panel.name}]" in screen_text(app)[0]
        await pilot.press("1", "left_square_bracket")
        assert "turn 8.19 s" not in "\n".join(screen_text(app))
        await pilot.press("f2")
        assert app.screen is app.conversation


async def test_a_question_turns_it_back(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.push_screen(Overview(State(), lambda: None, lambda: 0, {}))
        await pilot.pause()
        app.tell(began(), asked())
        await eventually(lambda: app.screen is app.conversation)
