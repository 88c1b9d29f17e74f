"""`loopline sessions compact`: an earlier session, made shorter where nobody hosts it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_core.agent.history import History
from agent_core.cli.kept.compacting import compact_session
from agent_core.config.paths import state_dir
from agent_core.errors import UsageError
from agent_core.hosting.session import HostOptions, host_session
from agent_core.variables import variables


async def _talked(project: Path) -> str:
    options = HostOptions(roots=(project,), client="test", flags={"model": "scripted", "approve": "auto"})
    async with host_session(options) as hosted:
        assert (await hosted.session.run_turn("look around")).status == "completed"
        return hosted.session.id


def test_an_earlier_session_is_made_shorter_and_its_file_keeps_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(300):
        (tmp_path / f"{n} {'long ' * 20}name.txt").touch()
    session = asyncio.run(_talked(tmp_path))
    compact_session(session[:-2])
    assert "the conversation was compacted by the service" in capsys.readouterr().out
    history = History.read(state_dir(variables()) / "sessions" / f"{session}.jsonl")
    assert sum(map(len, history.context())) * 2 < sum(map(len, history.items.raw(0)))


def test_a_session_that_there_is_not() -> None:
    with pytest.raises(UsageError):
        compact_session("sess_none")
