"""A turn that really repaired something is undone through its session: files, the model's view, the conversation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent_core.errors import UsageError
from agent_core.hosting.session import HostOptions, host_session
from agent_core.turns.events import TurnEvent, TurnUndone
from tests.support.system.cli import environment

BROKEN = "def double(number):\n    return number + number + 1\n"
TEST = """import unittest

from numbers_kept import double


class DoubleTest(unittest.TestCase):
    def test_three(self):
        self.assertEqual(double(3), 6)

    def test_five(self):
        self.assertEqual(double(5), 10)
"""


async def test_a_repair_is_undone_and_redone(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    source = project / "numbers_kept.py"
    source.write_text(BROKEN)
    (project / "test_numbers.py").write_text(TEST)
    seen: list[TurnEvent] = []
    options = HostOptions(
        roots=(project,),
        client="test",
        flags={"model": "repair", "approve": "auto", "python": sys.executable},
        env=environment(tmp_path / "home"),
    )
    async with host_session(options, observer=seen.append) as hosted:
        session = hosted.session
        outcome = await session.run_turn("make the failing tests pass")
        assert outcome.status == "completed", outcome.text
        repaired = source.read_text()
        assert repaired != BROKEN
        turn = session.turns[-1].turn
        source.write_text("# mine\n" + repaired)

        report = await session.undo(turn)
        assert source.read_text() == "# mine\n" + BROKEN
        assert report.conflicts == () and report.undo is not None
        assert isinstance(seen[-1], TurnUndone) and seen[-1].restored == ("numbers_kept.py",)
        assert b"The user undid" in session._parts.history.context()[-1]

        await session.undo(report.undo, conversation=False)
        assert source.read_text() == "# mine\n" + repaired

        items = len(session._parts.history.context())
        await session.undo(turn, conversation=True)
        assert source.read_text() == "# mine\n" + BROKEN
        assert len(session._parts.history.context()) < items
        assert not any(b"make the failing tests pass" in item for item in session._parts.history.context())

        with pytest.raises(UsageError) as caught:
            await session.undo("turn_unknown")
        assert caught.value.code == "unknown_turn"
