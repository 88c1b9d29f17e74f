"""Sessions run their commands in the sandbox that the settings ask for, and say so where none holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agent_core.hosting.session import NO_SANDBOX, HostOptions, host_session
from agent_core.tools.port import ToolContext
from agent_core.tools.sandbox import sandbox
from agent_core.tools.sandbox.sandbox import Found, find_sandbox
from agent_core.turns.events import Notice, TurnEvent
from tests.support.suite.parts import lacking
from tests.support.system.cli import environment


async def writes_outside(tmp_path: Path, settings: str, seen: list[TurnEvent]) -> bool:
    """Whether a command of a session with these user settings can write outside of the workspace."""
    (tmp_path / "project").mkdir()
    env = environment(tmp_path / "home")
    config = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(settings)
    options = HostOptions(
        roots=(tmp_path / "project",), client="test", flags={"model": "scripted", "python": sys.executable}, env=env
    )
    async with host_session(options, observer=seen.append) as hosted:
        box = hosted.session._parts.toolbox
        await box.run("shell", json.dumps({"command": f"echo x > {tmp_path}/made"}), ToolContext(tool_call="c"))
    return (tmp_path / "made").exists()


async def test_it_is_on_unless_the_user_switches_it_off(tmp_path: Path) -> None:
    if find_sandbox(environment(tmp_path)).kind == "none":
        lacking("bwrap", "nor Landlock")
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    seen: list[TurnEvent] = []
    assert not await writes_outside(tmp_path / "on", "", seen)
    assert await writes_outside(tmp_path / "off", 'sandbox = "off"\napprove = "auto"\n', seen)
    assert not any(isinstance(update, Notice) and update.text == NO_SANDBOX for update in seen)


@pytest.mark.parametrize(("approve", "told"), [("auto", 1), ("ask", 0)])
async def test_where_none_holds_auto_runs_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approve: str, told: int
) -> None:
    monkeypatch.setattr(sandbox, "_works", lambda argv: False)
    sandbox._find.cache_clear()
    seen: list[TurnEvent] = []
    try:
        assert find_sandbox(environment(tmp_path)) == Found("none")
        assert await writes_outside(tmp_path, f'approve = "{approve}"\n', seen)
    finally:
        sandbox._find.cache_clear()
    assert [update.text for update in seen if isinstance(update, Notice)].count(NO_SANDBOX) == told


async def test_a_workspace_can_not_switch_it_off(tmp_path: Path) -> None:
    if find_sandbox(environment(tmp_path)).kind == "none":
        lacking("bwrap", "nor Landlock")
    config = tmp_path / "project" / ".loopline" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('sandbox = "off"\nsandbox_network = true\nsandbox_visible = ["~/.ssh"]\nallow = ["*"]\n')
    options = HostOptions(
        roots=(tmp_path / "project",), client="test", flags={"model": "scripted"}, env=environment(tmp_path / "home")
    )
    seen: list[TurnEvent] = []
    async with host_session(options, observer=seen.append) as hosted:
        settings = hosted.loaded.settings
    assert (settings.sandbox, settings.sandbox_network, settings.sandbox_visible, settings.allow) == (
        "auto",
        False,
        (),
        (),
    )
    assert sum(isinstance(update, Notice) and "is ignored" in update.text for update in seen) == 4
