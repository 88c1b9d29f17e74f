"""What the agent sees of each event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_core.clock import SystemClock
from agent_core.errors import Retry, ServiceError, WireError
from agent_core.model.port import CallItem, ReasoningDelta, TextDelta, ToolArgumentsDelta, Usage
from agent_core.model.reply import Reply
from agent_core.model.timing import CallTimer, Pace
from agent_core.telemetry.emitter import Emitter, NullSink
from tests.support.model import events as make


def reply() -> Reply:
    clock = SystemClock()
    return Reply(
        CallTimer(clock, Emitter(NullSink(), clock, "test"), Pace(), {}), lambda response_id: True, lambda: None
    )


def feed(*events: dict[str, Any]) -> tuple[Reply, list[CallItem]]:
    into = reply()
    items = [into.read(json.dumps(event).encode()) for event in events]
    return into, [item for item in items if item is not None]


PLACE = {"output_index": 0, "item_id": "i_1", "content_index": 0, "summary_index": 0, "delta": "x"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("response.output_text.delta", TextDelta("x")),
        ("response.refusal.delta", TextDelta("x")),
        ("response.reasoning_text.delta", ReasoningDelta("x")),
        ("response.reasoning_summary_text.delta", ReasoningDelta("x")),
        ("response.function_call_arguments.delta", ToolArgumentsDelta("i_1", "x")),
        ("response.custom_tool_call_input.delta", ToolArgumentsDelta("i_1", "x")),
        ("response.mcp_call_arguments.delta", ToolArgumentsDelta("i_1", "x")),
    ],
)
def test_each_delta_on_its_channel(kind: str, expected: CallItem) -> None:
    assert feed(*make.response_started("resp_1"), {"type": kind} | PLACE)[1] == [expected]


def test_what_is_no_event_voids_the_attempt() -> None:
    with pytest.raises(WireError):
        reply().read(b"data: {}")


def test_a_server_that_announces_no_response_is_read_all_the_same() -> None:
    into, items = feed({"type": "response.output_text.delta"} | PLACE)
    assert items == [TextDelta("x")]
    assert list(into.oddities) == ["not_created"]


def test_events_that_nobody_knows_pass_unseen() -> None:
    into, items = feed({"type": "codex.rate_limits"}, *make.response_started("resp_1"), {"type": "acme:keepalive"})
    assert items == []
    assert into.begun
    assert not into.ended()


def test_events_of_another_response_are_passed_over() -> None:
    clock = SystemClock()
    timer = CallTimer(clock, Emitter(NullSink(), clock, "test"), Pace(), {})
    into = Reply(timer, lambda response_id: response_id != "resp_0", lambda: None)
    late = {"type": "response.completed", "response": make.response("resp_0", "completed")}
    for event in [late, *make.response_started("resp_1"), late]:
        assert into.read(json.dumps(event).encode()) is None
    assert not into.ended()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({}, None),
        ({"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}, Usage(input_tokens=3, output_tokens=2)),
        ({"input_tokens": 3}, Usage(input_tokens=3)),
        (
            {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2},
            Usage(input_tokens=3, cached_tokens=0, output_tokens=2),
        ),
        (
            make.USAGE,
            Usage(input_tokens=20, cached_tokens=12, cache_write_tokens=3, output_tokens=7, reasoning_tokens=2),
        ),
    ],
)
def test_what_a_service_leaves_out_of_its_usage_is_unknown_and_never_0(
    usage: dict[str, Any] | None, expected: Usage | None
) -> None:
    into, _ = feed(*make.ladder("resp_1", make.message("a"), usage=usage))
    assert into.port_usage() == expected


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([make.message("a")], "stop"),
        ([make.reasoning()], "stop"),
        ([make.message("a"), make.tool_call()], "tool_calls"),
        ([make.tool_call() | {"type": "acme_future_call"}], "tool_calls"),
    ],
)
def test_the_reason_of_a_completed_response_says_whether_tools_are_asked_for(
    items: list[dict[str, Any]], reason: str
) -> None:
    into, _ = feed(*make.ladder("resp_1", *items))
    assert (into.finish_reason(into.items()), into.status()) == (reason, "completed")


@pytest.mark.parametrize(
    ("fields", "reason", "status"),
    [
        ({"incomplete_details": {"reason": "content_filter"}}, "content_filter", "incomplete"),
        ({"incomplete_details": None}, "incomplete", "incomplete"),
    ],
)
def test_the_reason_of_an_incomplete_response(fields: dict[str, Any], reason: str, status: str) -> None:
    into, _ = feed(*make.ladder("resp_1", make.message("a"), status="incomplete", **fields))
    assert (into.finish_reason(into.items()), into.status()) == (reason, status)


def test_a_response_that_the_service_cancelled() -> None:
    end = {"type": "response.incomplete", "response": make.response("resp_1", "cancelled")}
    into, _ = feed(*make.response_started("resp_1"), end)
    assert (into.finish_reason([]), into.status()) == ("cancelled", "cancelled")


def test_a_response_that_failed_without_a_reason_may_be_tried_again() -> None:
    into, _ = feed(*make.ladder("resp_1", status="failed", usage=None))
    assert isinstance(into.failure, ServiceError)
    assert (into.failure.code, into.failure.retry) == ("server_error", Retry.BACKOFF)
