"""Which command lines mean the interactive session."""

from __future__ import annotations

import pytest

from agent_core.cli.start import is_interactive


@pytest.mark.parametrize(
    "line", [[], ["fix the flaky test"], ["-c"], ["-r"], ["--resume", "x"], ["--", "fix"], ["--model", "m"], ["Fix!"]]
)
def test_a_conversation(line: list[str]) -> None:
    assert is_interactive(line)


@pytest.mark.parametrize("line", [["run", "x"], ["--version"], ["-h"], ["sesions"], ["tui", "--replay", "f"]])
def test_a_command(line: list[str]) -> None:
    assert not is_interactive(line)
