"""The five stages of a turn: each instant belongs to one, and they add up."""

from __future__ import annotations

import pytest

from agent_core.telemetry.rollup.stages import STAGES, StageClock, ms_to_ns, to_ms


def split(clock: StageClock, end_ns: int) -> tuple[int, ...]:
    stages = clock.finish(end_ns)
    return tuple(stages[stage] for stage in STAGES)


def test_call_time_is_inference_as_reported_and_the_rest_is_overhead() -> None:
    clock = StageClock(100)
    clock.call_started("a", 110)
    clock.call_ended("a", 150, 25)
    assert split(clock, 170) == (15, 25, 0, 0, 30)
    assert clock.duration_ns() == 70


def test_inference_never_exceeds_the_wall_time_of_its_call() -> None:
    clock = StageClock(0)
    clock.call_started("a", 0)
    clock.call_ended("a", 40, 1_000)
    assert split(clock, 40) == (0, 40, 0, 0, 0)


def test_inference_of_overlapping_calls_never_exceeds_the_time_in_which_calls_ran() -> None:
    clock = StageClock(0)
    clock.call_started("a", 0)
    clock.call_started("b", 0)
    clock.call_ended("a", 30, 30)
    clock.call_ended("b", 40, 40)
    assert split(clock, 40) == (0, 40, 0, 0, 0)


def test_parallel_tools_count_as_a_union() -> None:
    clock = StageClock(0)
    clock.tool_started("a", 0)
    clock.tool_started("b", 10)
    clock.tool_ended("a", 20)
    clock.tool_ended("b", 50)
    assert split(clock, 60) == (0, 0, 50, 0, 10)


def test_a_call_goes_before_a_tool_and_a_tool_before_an_approval() -> None:
    clock = StageClock(0)
    clock.approval_opened("x", 0)
    clock.tool_started("t", 10)
    clock.call_started("c", 20)
    clock.call_ended("c", 50, 5)
    clock.tool_ended("t", 60)
    clock.approval_closed("x", 90)
    assert split(clock, 100) == (25, 5, 20, 40, 10)


def test_a_running_call_is_inference_from_its_first_delta_until_its_end_tells_better() -> None:
    clock = StageClock(0)
    clock.call_started("c", 0)
    assert clock.current() == "api_overhead"
    clock.first_delta("c", 40)
    assert clock.current() == "inference"
    assert clock.stages_ns(100) == {
        "api_overhead": 40, "inference": 60, "client_tool": 0, "approval": 0, "client_other": 0,
    }  # fmt: skip
    clock.call_ended("c", 100, 30)
    assert split(clock, 100) == (70, 30, 0, 0, 0)


def test_without_a_reported_inference_time_it_is_first_delta_to_end() -> None:
    clock = StageClock(0)
    clock.call_started("c", 0)
    clock.first_delta("c", 10)
    clock.call_ended("c", 50, None)
    clock.call_started("d", 50)
    clock.call_ended("d", 60, None)
    assert split(clock, 60) == (20, 40, 0, 0, 0)


def test_a_look_ahead_changes_nothing() -> None:
    clock = StageClock(0)
    clock.tool_started("t", 10)
    assert clock.stages_ns(1_000)["client_tool"] == 990
    clock.tool_ended("t", 20)
    assert split(clock, 30) == (0, 0, 10, 0, 20)


def test_a_stamp_from_the_past_counts_as_now_and_is_counted() -> None:
    clock = StageClock(100)
    clock.tool_started("t", 150)
    clock.tool_ended("t", 120)
    assert split(clock, 160) == (0, 0, 0, 0, 60)
    assert clock.clamped == 1


def test_negative_inference_is_zero_and_counted() -> None:
    clock = StageClock(0)
    clock.call_started("c", 0)
    clock.call_ended("c", 10, -5)
    assert split(clock, 10) == (10, 0, 0, 0, 0)
    assert clock.clamped == 1


def test_what_starts_twice_or_ends_unstarted_changes_nothing() -> None:
    clock = StageClock(0)
    clock.call_started("c", 0)
    clock.call_started("c", 10)
    clock.call_ended("other", 15, 15)
    clock.tool_ended("t", 15)
    clock.call_ended("c", 20, 20)
    assert split(clock, 20) == (0, 20, 0, 0, 0)


def test_what_still_runs_ends_with_the_turn() -> None:
    clock = StageClock(0)
    clock.call_started("c", 10)
    assert split(clock, 30) == (20, 0, 0, 0, 10)


@pytest.mark.parametrize("ns", [0, 1, 999_999, 1_000_001, 30 * 24 * 3600 * 1_000_000_000 + 7])
def test_milliseconds_give_the_same_nanoseconds_back(ns: int) -> None:
    assert ms_to_ns(to_ms({"inference": ns})["inference"]) == ns
