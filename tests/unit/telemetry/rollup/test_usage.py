"""Usage is normalised in one place: inclusive counts, unknown stays unknown."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.telemetry.rollup.usage import TokenUsage, normalise_usage

RESPONSES = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}


def test_the_responses_form_is_inclusive_as_it_is() -> None:
    usage = normalise_usage(RESPONSES)
    assert usage == TokenUsage(100, 60, 10, 20, 5)
    assert usage is not None
    assert usage.fresh_input_tokens == 30


def test_chat_completions_names() -> None:
    assert normalise_usage(
        {
            "prompt_tokens": 9,
            "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 1},
        }
    ) == TokenUsage(9, 8, None, 4, 1)


def test_exclusive_buckets_are_added_to_the_input() -> None:
    raw = {
        "input_tokens": 5,
        "cache_read_input_tokens": 128_955,
        "cache_creation_input_tokens": 1_253,
        "output_tokens": 7,
    }
    usage = normalise_usage(raw, "exclusive")
    assert usage == TokenUsage(130_213, 128_955, 1_253, 7, None)
    assert usage is not None
    assert usage.fresh_input_tokens == 5


@pytest.mark.parametrize("raw", [None, {}])
def test_no_usage_is_none(raw: dict[str, Any] | None) -> None:
    assert normalise_usage(raw) is None


@pytest.mark.parametrize(
    "details",
    [
        None,
        {},
        {"cached_tokens": None},
        {"cached_tokens": "12"},
        {"cached_tokens": True},
        "text",
    ],
)
def test_what_is_not_a_count_is_unknown_not_zero(details: object) -> None:
    usage = normalise_usage({"input_tokens": 50, "output_tokens": 2, "input_tokens_details": details})
    assert usage == TokenUsage(50, None, None, 2, None)


def test_a_reported_zero_is_a_zero() -> None:
    usage = normalise_usage({"input_tokens": 0, "output_tokens": 0, "input_tokens_details": {"cached_tokens": 0}})
    assert usage == TokenUsage(0, 0, None, 0, None)


def test_parts_above_their_whole_are_flagged_and_kept_as_reported() -> None:
    usage = normalise_usage({"input_tokens": 5, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 900}})
    assert usage == TokenUsage(5, 900, None, 1, None, suspect=True)
    assert usage is not None
    assert usage.fresh_input_tokens is None


def test_a_negative_count_is_flagged_and_kept_as_reported() -> None:
    usage = normalise_usage({"input_tokens": 5, "output_tokens": 1, "input_tokens_details": {"cached_tokens": -9}})
    assert usage == TokenUsage(5, -9, None, 1, None, suspect=True)
    assert usage is not None
    assert usage.fresh_input_tokens is None
    reasoning = normalise_usage({"output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 2}})
    assert reasoning is not None
    assert reasoning.suspect
