"""The rules' reading of a command line against bash itself: a sample; `make soak` runs 20,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.agent.shell_rules import compare
from tests.support.system.bash_trace import TracedBash


@pytest.mark.parametrize("seed", [1, 2])
def test_bash_runs_nothing_that_no_rule_saw(seed: int, tmp_path: Path) -> None:
    found = compare(TracedBash(tmp_path), seed, 150)
    assert not found.unseen, "\n".join(found.unseen)
    assert found.covered > 20 and found.started > 20


def test_the_trace_sees_what_bash_starts_and_writes(tmp_path: Path) -> None:
    trace = TracedBash(tmp_path).run("A=1 p1 'a b' > out; test -v 'a[$(mark)]'; ./tool x & echo $X | true")
    assert sorted(trace.started) == [("./tool", "x"), ("echo", "x", "y"), ("mark",), ("p1", "a b"), ("true",)]
    assert trace.written == ("out",)
