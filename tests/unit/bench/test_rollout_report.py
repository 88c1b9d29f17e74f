"""Figures of rollouts that were measured elsewhere."""

from __future__ import annotations

from agent_core.bench.figures import Figure
from agent_core.bench.rollout import FULL, QUICK, TITLES, Cell, Found, Scale, at_speed, conclusions
from agent_core.bench.rollout_ways import WAYS, Measured, Plan

SCALE = Scale(plan=Plan(calls=10, tokens=99), speeds=(100, 1_000), rtts_ms=(0, 20), slow_start_at=None, repeats=1)
BESIDES_S = {"new": 6.0, "kept": 3.0, "stored": 2.0, "deltas": 1.0, "rollout": 0.5}


def found() -> Found:
    return {
        (Cell(speed, rtt_ms), way): [
            Measured(seconds=1_000 / speed + BESIDES_S[way], first_ms=[1.0], own_ms=10.0, bytes_up=1, cpu_s=0.1)
        ]
        for speed in SCALE.speeds
        for rtt_ms in SCALE.rtts_ms
        for way in WAYS
    }


def report() -> list[Figure]:
    measured = found()
    return [*at_speed(SCALE, measured, 100), *at_speed(SCALE, measured, 1_000), *conclusions(SCALE, measured)]


def test_every_claim_names_its_baseline() -> None:
    figures = report()
    names = [figure.name for figure in figures]
    for speed in SCALE.speeds:
        for way in WAYS:
            assert f"rollout, {Cell(speed, 20)}: {TITLES[way]}" in names
    assert all((figure.against is None) == (figure.ratio is None) for figure in figures)


def test_shares_and_the_speed_for_the_goal() -> None:
    figures = {figure.name: figure for figure in report()}
    shares = figures[f"rollout, 100 tok/s, 0 ms: saved by {TITLES['deltas']} against {TITLES['new']}"]
    assert shares.value == 100 * 5 / 16
    assert "connections kept 60%" in shares.note
    assert "state of the connection 20%" in shares.note
    goal = figures[f"rollout, 20 ms: speed from which {TITLES['deltas']} save 40 % against {TITLES['new']}"]
    assert round(goal.value, 6) == round(1_000 / (5 / 0.4 - 6), 6)
    kept = figures[f"rollout, 20 ms: speed from which {TITLES['deltas']} save 40 % against {TITLES['kept']}"]
    assert kept.value == 1_000 / (2 / 0.4 - 3)


def test_the_scales_hold_what_was_asked_for() -> None:
    assert (FULL.plan.calls, FULL.speeds, FULL.rtts_ms) == (40, (65, 1_000, 4_000), (0, 20, 80))
    assert len(FULL.plan.rollout(65)) > len(QUICK.plan.rollout(65))
