"""Approvals answered and turns cancelled from the dashboard, over a real control socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from agent_core.control.server import ControlServer
from dashboard.tui.app import Dashboard
from dashboard.tui.control import ControlLink
from dashboard.tui.screens.overlays import ApprovalQuestion, CancelQuestion
from tests.support.agent.control import HandHost
from tests.support.system.waiting import eventually
from tests.support.terminal.pictures import dashboard, screen_text, settled


@asynccontextmanager
async def hosted(
    tmp_path: Path, *, size: tuple[int, int] = (120, 32)
) -> AsyncIterator[tuple[HandHost, Dashboard, Pilot[int]]]:
    host = HandHost(session="sess_editor_a", turn="turn_dates", approval="appr_push")
    folder = tmp_path / "run"
    async with ControlServer(folder, host.handlers()):
        app, feed = dashboard(control=ControlLink(folder))
        async with app.run_test(size=size) as pilot:
            await settled(app, len(feed.events))
            yield host, app, pilot


def told(app: Dashboard, text: str) -> bool:
    return any(text in notice.message for notice in app._notifications)


async def asked(app: Dashboard, pilot: Pilot[int]) -> list[str]:
    await eventually(lambda: isinstance(app.screen, ApprovalQuestion))
    await pilot.pause()
    await pilot.pause()
    return screen_text(app)


async def test_turns_are_called_by_their_task_where_the_host_tells(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (_, app, pilot):
        await eventually(lambda: bool(app.desk.titles))
        app.main.flush()
        await pilot.pause()
        assert sum("fix date parsing" in line for line in screen_text(app)) >= 1


async def test_an_approval_is_shown_whole_and_answered_once(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (host, app, pilot):
        host.subject = "git push --force\x1b[2K [/foo]\n" + "x" * 200
        await pilot.press("a")
        text = await asked(app, pilot)
        assert any("git push --force\\x1b[2K [/foo]" in line for line in text), "spelled out, not hidden"
        assert sum(line.count("x" * 20) > 0 for line in text) >= 3
        await pilot.press("enter", "space")
        assert host.answers == [], "no answer by accident"
        await pilot.press("y")
        await eventually(lambda: told(app, "Allowed."))
        assert host.answers == [("appr_push", "allow")]
        await pilot.press("a")
        await eventually(lambda: told(app, "No approval waits here."))


async def test_always_deny_and_not_now(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (host, app, pilot):
        await pilot.press("a")
        await asked(app, pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert host.answers == []
        for key, decision, word in (("n", "deny", "Denied."), ("w", "always", "Always allowed")):
            host.approval = "appr_push"
            await pilot.press("a")
            await asked(app, pilot)
            await pilot.press(key)
            await eventually(lambda word=word: told(app, word))  # type: ignore[misc]
            assert host.answers[-1] == ("appr_push", decision)


async def test_an_approval_that_was_answered_elsewhere_says_so(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (host, app, pilot):
        await pilot.press("a")
        await asked(app, pilot)
        host.approval = None
        await pilot.press("y")
        await eventually(lambda: told(app, "is not open"))
        assert host.answers == []


async def test_a_long_command_on_a_small_screen_can_be_read_to_its_end(tmp_path: Path) -> None:
    async with hosted(tmp_path, size=(60, 20)) as (host, app, pilot):
        host.subject = "\n".join(f"line {number}" for number in range(100))
        await pilot.press("a")
        text = await asked(app, pilot)
        assert any("y allow" in line for line in text) and any("↓ more" in line for line in text)
        assert not any("line 99" in line for line in text)
        await pilot.press("G")
        await pilot.pause()
        assert any("line 99" in line for line in screen_text(app))


async def test_cancelling_asks_first(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (host, app, pilot):
        await pilot.press("x")
        await eventually(lambda: isinstance(app.screen, CancelQuestion))
        await pilot.press("escape")
        await pilot.pause()
        assert host.cancelled == []
        await pilot.press("x")
        await eventually(lambda: isinstance(app.screen, CancelQuestion))
        await pilot.press("y")
        await eventually(lambda: told(app, "Cancelled."))
        assert host.cancelled == ["turn_dates"]


async def test_a_turn_nobody_here_hosts_can_not_be_cancelled(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (host, app, pilot):
        host.turn = "turn_other"
        await pilot.press("x")
        await eventually(lambda: isinstance(app.screen, CancelQuestion))
        await pilot.press("x")
        await eventually(lambda: told(app, "no process of this user"))
        assert host.cancelled == []
