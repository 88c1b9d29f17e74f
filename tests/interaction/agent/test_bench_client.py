"""The benchmark of the client measures what it says: every turn is seen, deltas only, whatever the history weighs."""

from __future__ import annotations

import pytest

from agent_core.bench.client import Runs, converse
from agent_core.bench.client_service import Plan

PLAN = Plan(turns=4, deltas=5)


@pytest.mark.parametrize("name", ["minimal", "agent"])
def test_each_turn_is_measured_and_sends_only_what_is_new(name: str) -> None:
    small, large = (converse(name, PLAN, size, count) for size, count in ((2_000, 1), (400_000, 200)))
    for run in (small, large):
        assert len(run.seen.turnaround_ns) == len(run.seen.bytes_up) == PLAN.turns - 1
        assert all(ns > 0 for ns in run.seen.turnaround_ns)
        assert run.cost.cpu_s > 0 and 10 < run.cost.rss_mb < 150
    assert Runs([small]).bytes_up() == Runs([large]).bytes_up() < 8_000
