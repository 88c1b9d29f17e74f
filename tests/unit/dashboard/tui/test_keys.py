"""Every key of the main screen, pressed in the real app; the table of keys and the tests can't drift apart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.screen import Screen

from dashboard.tui.app import Dashboard
from dashboard.tui.desk import TABS
from dashboard.tui.keys import KEYS
from dashboard.tui.screens.main import MainScreen
from dashboard.tui.screens.overlays import CompareSheet, HelpSheet
from dashboard.widgets.palette import CYCLE
from tests.support.system.waiting import eventually
from tests.support.terminal.pictures import dashboard, screen_text, settled

TURNS = ["turn_dates", "turn_proxy", "turn_guide", "turn_explain", "turn_cache", "turn_rename"]


class At:
    """A started app on the recorded feed."""

    def __init__(self, app: Dashboard, pilot: Pilot[int], screen: MainScreen, folder: Path) -> None:
        self.app, self.pilot, self.screen, self.folder = app, pilot, screen, folder
        self.desk = app.desk

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        await self.pilot.pause()

    def sees(self, text: str) -> bool:
        return any(text in line for line in screen_text(self.app))

    def told(self, text: str) -> bool:
        """Whether a notice of now says it."""
        return any(text in notice.message for notice in self.app._notifications)

    @property
    def on_top(self) -> Screen[Any]:
        return self.app.screen


async def tab(at: At) -> None:
    for number, one in enumerate(TABS, 1):
        await at.press(str(number))
        assert at.desk.tab == number - 1
        assert at.sees(f"[{number} {one.name}]")


async def to_panel(at: At) -> None:
    await at.press("right")
    assert at.screen.panel.has_focus
    await at.press("h")
    assert at.screen.turns.has_focus
    await at.press("l")
    assert at.screen.panel.has_focus


async def to_turns(at: At) -> None:
    await at.press("enter")
    assert at.screen.panel.has_focus, "Enter in the list opens the panel"
    await at.press("left")
    assert at.screen.turns.has_focus


async def filtering(at: At) -> None:
    await at.press("slash", *"docs")
    assert at.sees("3 of 6"), "it works while it is typed"
    await at.press("enter")
    assert (at.desk.filter, at.desk.turn) == ("docs", "turn_guide")
    assert at.screen.turns.has_focus
    await at.press("slash", *"zzz", "enter")
    assert at.sees("No turn passes the filter.")
    await at.press("slash", "escape")
    assert at.desk.filter == ""
    await at.press("6", "l", "slash", *"tool.", "enter")
    assert at.desk.raw_types == "tool."
    assert at.sees("matching tool.") and not at.sees("call.sent")


async def searching(at: At) -> None:
    await at.press("l", "g", "s", *"search", "enter")
    assert at.screen.panel.has_focus
    first = at.screen.panel.cursor
    row = at.screen.panel.row
    assert row is not None and "search" in "".join(text for text, _ in row.line)
    await at.press("n")
    assert at.screen.panel.cursor != first
    await at.press("n")
    assert at.screen.panel.cursor == first, "it goes round"


async def previous_match(at: At) -> None:
    await at.press("l", "g", "s", *"call", "enter")
    first = at.screen.panel.cursor
    await at.press("n", "n", "N", "N")
    assert at.screen.panel.cursor == first
    await at.press("escape")
    assert at.screen.turns.has_focus, "which ends the search"


async def follow(at: At) -> None:
    await at.press("down", "down")
    assert (at.desk.turn, at.desk.follow) == ("turn_guide", False)
    await at.press("f")
    assert (at.desk.turn, at.desk.follow) == ("turn_dates", True)
    await at.press("f")
    assert not at.desk.follow


async def pause(at: At) -> None:
    await at.press("space")
    assert at.sees("■ paused")
    await at.press("space")
    assert at.sees("● live")


async def rate(at: At) -> None:
    assert at.sees("4 Hz")
    await at.press("plus", "plus")
    assert at.desk.rate_hz == 10 and at.sees("10 Hz")
    await at.press("equals_sign", *["minus"] * 9)
    assert at.desk.rate_hz == 0.5 and at.sees("0.5 Hz")


async def compare(at: At) -> None:
    await at.press("c", "down", "c")
    assert isinstance(at.on_top, CompareSheet)
    assert at.sees("A  inventory #2") and at.sees("B  cli #1")
    await at.press("right")
    assert at.sees("B  docs #3")
    await at.press("left", "w")
    assert at.sees("A  cli #1") and at.sees("B  inventory #2")
    await at.press("right_square_bracket", "left_square_bracket", "l", "h")
    assert at.sees("A  cli #1") and at.sees("B  inventory #2")
    await at.press("escape")
    assert at.app.screen_stack == [at.screen]


async def compare_models(at: At) -> None:
    await at.press("m")
    assert isinstance(at.on_top, CompareSheet)
    assert at.sees("A  gpt-5.5") and at.sees("B  gpt-5.4-mini")


async def approve(at: At) -> None:
    await at.press("a")
    assert at.told("on this machine only"), "there is no control socket here"


async def cancel(at: At) -> None:
    await at.press("x")
    assert at.told("on this machine only")
    await at.press("down", "x")
    assert at.told("does not run")


async def copy(at: At) -> None:
    await at.press("y")
    assert at.app.clipboard.startswith("turn_dates ? 01:02 inventory #2")
    await at.press("l", "g", "y")
    assert at.app.clipboard.startswith("call sess_editor_a_call_13 call 12 +22 ms 662 ms")
    await at.press("6", "y")
    assert at.app.clipboard.startswith('{"type":"approval.opened"')


async def export(at: At) -> None:
    await at.press("e")
    assert at.sees("export 6 turns to")
    await at.press("ctrl+u", *"out.csv", "enter")
    await eventually(lambda: at.told("events written to"))
    assert (at.folder / "out.csv").read_text().count("\n") == at.desk.state.events + 1


async def older(at: At) -> None:
    await at.press("o")
    assert at.app.following.days == 2
    assert at.told("Reading 2 days of history.")


async def theme(at: At) -> None:
    seen = [at.app.theme]
    for _ in CYCLE:
        await at.press("t")
        seen.append(at.app.theme)
    assert seen == [*CYCLE, CYCLE[0]]


async def show_help(at: At) -> None:
    await at.press("question_mark")
    assert isinstance(at.on_top, HelpSheet)
    assert at.sees("where the time of the turn went")
    await at.press("G")
    assert at.sees("percentiles of all calls")
    await at.press("question_mark")
    assert at.app.screen_stack == [at.screen]


async def back(at: At) -> None:
    await at.press("slash", *"docs", "enter", "c", "l", "escape")
    assert at.screen.turns.has_focus and at.desk.filter == "docs"
    await at.press("escape")
    assert (at.desk.filter, at.desk.baseline) == ("", None)


async def leave(at: At) -> None:
    await at.press("q")
    assert at.app.return_value == 0


CASES: dict[str, Callable[[At], Awaitable[None]]] = {
    **{f"tab({number})": tab for number in range(6)},
    "to_panel": to_panel,
    "to_turns": to_turns,
    "filter": filtering,
    "search": searching,
    "find(1)": searching,
    "find(-1)": previous_match,
    "follow": follow,
    "pause": pause,
    "rate(1)": rate,
    "rate(-1)": rate,
    "compare": compare,
    "compare_models": compare_models,
    "approve": approve,
    "cancel": cancel,
    "copy": copy,
    "export": export,
    "older": older,
    "theme": theme,
    "help": show_help,
    "back": back,
    "quit": leave,
}


def test_no_key_is_without_a_test() -> None:
    assert {key.action for key in KEYS} == set(CASES)


@pytest.mark.parametrize("case", dict.fromkeys(CASES.values()))
async def test_key(case: Callable[[At], Awaitable[None]], tmp_path: Path) -> None:
    app, feed = dashboard(folder=tmp_path)
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.pause()
        await case(At(app, pilot, screen, tmp_path))


async def test_moving_in_the_list_and_in_a_panel() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        for keys, turn in (("j", 1), ("down", 2), ("k", 1), ("up", 0), ("G", 5), ("g", 0), ("end", 5), ("home", 0)):
            await pilot.press(keys)
            await eventually(partial(lambda turn: app.desk.turn == TURNS[turn], turn))
        await pilot.press("6", "l")
        await pilot.pause()
        keys_of = [row.key for row in screen.panel.rows]
        await pilot.press("G", "pageup")
        at = keys_of.index(screen.panel.cursor)
        assert len(keys_of) - 30 < at < len(keys_of) - 10
        await pilot.press("pagedown")
        assert screen.panel.cursor == keys_of[-1]


async def test_a_click_selects_a_turn_and_a_tab() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 32)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.pause()
        await pilot.click("#turns", offset=(5, 5))
        assert app.desk.turn == TURNS[2]
        await pilot.click("#tabs", offset=(20, 0))
        assert app.desk.tab == 1
        await pilot.pause()
        assert screen.panel.row is not None


async def test_the_palette_offers_every_action_by_name() -> None:
    app, feed = dashboard()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(app, len(feed.events))
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, CommandPalette)
        names = {command.title for command in app.get_system_commands(screen)}
        assert names == {key.name for key in KEYS}
        await pilot.press("escape")
        await pilot.pause()
        [tokens] = [command for command in app.get_system_commands(screen) if command.title == "Tokens"]
        await tokens.callback()
        assert app.desk.tab == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [("there.csv", "is there already"), ("x.txt", "has to end in"), ("no/where.csv", "can't be written")],
)
async def test_an_export_that_can_not_be_written_says_why(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "there.csv").write_text("mine")
    app, feed = dashboard(folder=tmp_path)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(app, len(feed.events))
        await pilot.press("e", "ctrl+u", *name, "enter")
        await eventually(lambda: any(told in notice.message for notice in app._notifications))
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
