"""Which command lines need no parser of options."""

from __future__ import annotations

import pytest

from dashboard.agent.cli import read_plain
from dashboard.agent.sessions.options import AgentOptions


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ([], AgentOptions()),
        (["fix the flaky test"], AgentOptions(task="fix the flaky test")),
        (["-c"], AgentOptions(latest=True)),
        (["--resume"], AgentOptions(resume="")),
        (["-r", "abc"], None),
        (["--plain"], None),
        (["-h"], None),
        (["--", "fix"], None),
        (["a", "b"], None),
    ],
)
def test_a_line_without_options_is_read_here(line: list[str], meant: AgentOptions | None) -> None:
    assert read_plain(line) == meant
