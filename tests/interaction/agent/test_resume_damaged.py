"""A session whose file was damaged is resumed over the real service: a person is told, the rest goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_core.agent.history import History
from agent_core.config.paths import state_dir
from agent_core.errors import UsageError
from agent_core.hosting.session import HostOptions, host_session
from agent_core.turns.events import Notice, TurnEvent
from tests.support.system.cli import environment


@pytest.mark.parametrize("line", [0, 3], ids=["header", "an item"])
async def test_the_rest_resumes_and_a_person_is_told(tmp_path: Path, line: int) -> None:
    env = environment(tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    options = HostOptions(roots=(project,), client="test", flags={"model": "scripted"}, env=env)
    async with host_session(options) as hosted:
        session = hosted.session.id
        assert (await hosted.session.run_turn("hello")).status == "completed"
    path = state_dir(env) / "sessions" / f"{session}.jsonl"
    lines = path.read_bytes().split(b"\n")
    before = len(History.read(path).items)
    lines[line] = b"\0" * len(lines[line])
    path.write_bytes(b"\n".join(lines))

    told: list[TurnEvent] = []
    if line == 0:
        with pytest.raises(UsageError, match="folders are lost"):
            async with host_session(HostOptions(roots=(), client="test", resume=session, as_it_was=True, env=env)):
                pass
    again = HostOptions(
        roots=(project,), client="test", resume=session, as_it_was=True, env=env, flags={"model": "scripted"}
    )
    async with host_session(again, observer=told.append) as hosted:
        assert (await hosted.session.run_turn("go on")).status == "completed"
    notices = [event.text for event in told if isinstance(event, Notice)]
    assert any(str(path) in text and "damaged" in text for text in notices), notices
    history = History.read(path)
    assert len(history.items) > before
    assert "go on" in json.dumps([json.loads(item) for item in history.items.raw(0)])
