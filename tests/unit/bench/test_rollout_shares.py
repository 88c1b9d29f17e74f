"""What is saved, and where it comes from."""

from __future__ import annotations

import pytest

from agent_core.bench.rollout_shares import saved, speed_for, split


def test_shares_of_steps_add_up() -> None:
    seconds = {"new": 10.0, "kept": 7.0, "stored": 8.0, "deltas": 5.0}
    steps = split(seconds, ("new", "kept", "stored", "deltas"))
    assert [(a, b) for a, b, _ in steps] == [("new", "kept"), ("kept", "stored"), ("stored", "deltas")]
    assert [share for *_, share in steps] == pytest.approx([0.6, -0.2, 0.6])
    assert split({"a": 1.0, "b": 1.0}, ("a", "b")) == []


def test_what_is_saved() -> None:
    assert saved(10.0, 6.0) == pytest.approx(0.4)
    assert saved(10.0, 12.0) == pytest.approx(-0.2)


def test_the_speed_for_a_share_gives_that_share() -> None:
    tokens, baseline_s, other_s = 2_400, 8.0, 2.0
    speed = speed_for(0.4, tokens, baseline_s, other_s)
    assert speed is not None
    assert saved(tokens / speed + baseline_s, tokens / speed + other_s) == pytest.approx(0.4)


@pytest.mark.parametrize(("baseline_s", "other_s"), [(2.0, 2.0), (2.0, 3.0), (2.0, 1.5)])
def test_a_share_that_no_speed_gives(baseline_s: float, other_s: float) -> None:
    """Without any sampling the last of them saves 25 %."""
    assert speed_for(0.4, 2_400, baseline_s, other_s) is None
