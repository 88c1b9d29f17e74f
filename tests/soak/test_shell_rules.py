"""20,000 seeded command lines, judged and then run in real bash under observation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.agent.shell_rules import compare
from tests.support.system.bash_trace import TracedBash

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]

BATCHES, BATCH = 20, 1_000


@pytest.mark.parametrize("seed", range(1_000, 1_000 + BATCHES))
def test_bash_runs_nothing_that_no_rule_saw(seed: int, tmp_path: Path) -> None:
    found = compare(TracedBash(tmp_path), seed, BATCH)
    print(f"seed {seed}: {found.commands} commands, {found.covered} run, {found.started} programs started")
    assert not found.unseen, "\n".join(found.unseen)
