"""The event ladder: order, numbers, and a terminal frame that shows exactly what was closed."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import EngineError
from agent_core.responses_server.engine import (
    Delta,
    Finish,
    ItemEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.output.accounting import usage_of
from agent_core.responses_server.output.event_builder import EventBuilder, Frame
from agent_core.wire.events import event_type, read_event
from agent_core.wire.response import Response

USAGE = usage_of(Finish(), rendered=10, reused=4, output_tokens=3, reasoning_tokens=1)


def ladder(stream_id: str | None = None) -> EventBuilder:
    numbers = itertools.count(1)
    response = Response(id="resp_1", created_at=100, status="in_progress", model="scripted")
    return EventBuilder(response, stream_id, lambda prefix: f"{prefix}_{next(numbers)}", lambda: 101)


def play(subject: EventBuilder, *deltas: Delta) -> list[Frame]:
    return [frame for delta in deltas for frame in subject.delta(delta)]


def events(frames: list[Frame]) -> list[Any]:
    return [msgspec.json.decode(frame.data) for frame in frames]


def short(frames: list[Frame]) -> list[str]:
    return [frame.type.removeprefix("response.") for frame in frames]


def test_a_message() -> None:
    subject = ladder()
    frames = [subject.created(), subject.in_progress(), *play(subject, TextDelta("Hel"), TextDelta("lo"))]
    frames += [*subject.finish_items(cut=False), subject.completed(USAGE)]
    assert short(frames) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    made = events(frames)
    assert [event["sequence_number"] for event in made] == list(range(10))
    assert made[2]["item"] == {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }
    assert made[4]["logprobs"] == []
    assert made[6]["text"] == "Hello"
    done = made[8]["item"]
    assert done["status"] == "completed"
    assert done["content"] == [{"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}]
    assert made[9]["response"]["output"] == [done]
    assert made[9]["response"]["completed_at"] == 101
    assert made[0]["response"]["output"] == []
    assert not any("stream_id" in event for event in made)


def test_all_kinds_of_items() -> None:
    subject = ladder("lane-1")
    frames = play(
        subject,
        ReasoningDelta("hm"),
        TextDelta("so"),
        ToolCallStart(name="read", call_id="call_x"),
        ToolCallDelta('{"path":'),
        ToolCallDelta('"a"}'),
        ToolCallStart(name="patch", kind="custom", namespace="tools"),
        ToolCallDelta("*** Begin"),
        ItemEnd(),
        TextDelta("end"),
    )
    frames += [*subject.finish_items(cut=False), subject.completed(USAGE)]
    made = events(frames)
    assert all(event["stream_id"] == "lane-1" for event in made)
    output = made[-1]["response"]["output"]
    assert [item["type"] for item in output] == [
        "reasoning",
        "message",
        "function_call",
        "custom_tool_call",
        "message",
    ]
    assert output[0]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert output[2] == {
        "type": "function_call",
        "id": "fc_3",
        "call_id": "call_x",
        "name": "read",
        "arguments": '{"path":"a"}',
        "status": "completed",
    }
    assert output[3]["input"] == "*** Begin"
    assert output[3]["namespace"] == "tools"
    assert output[3]["call_id"].startswith("call_")
    assert [event["item"] for event in made if event["type"] == "response.output_item.done"] == output
    wanted = [
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
    ]
    assert set(wanted) <= set(short(frames))


@pytest.mark.parametrize(
    ("end", "status", "kind"),
    [
        (lambda subject: subject.completed(USAGE), "completed", "response.completed"),
        (lambda subject: subject.incomplete("max_output_tokens", USAGE), "incomplete", "response.incomplete"),
        (lambda subject: subject.cancelled(USAGE), "cancelled", "response.incomplete"),
        (lambda subject: subject.failed("server_error", "broke", None), "failed", "response.failed"),
    ],
)
def test_endings(end: Any, status: str, kind: str) -> None:
    subject = ladder()
    play(subject, TextDelta("closed"), ItemEnd(), TextDelta("open"))
    frame = end(subject)
    response = msgspec.json.decode(frame.data)["response"]
    assert (frame.type, response["status"]) == (kind, status)
    assert len(response["output"]) == 1
    assert response["error"] == ({"code": "server_error", "message": "broke"} if status == "failed" else None)
    wanted = {"reason": "max_output_tokens"} if status == "incomplete" else None
    assert response["incomplete_details"] == wanted


def test_a_cut_message_is_kept_and_a_cut_call_is_not() -> None:
    subject = ladder()
    play(subject, TextDelta("half"))
    frames = events(subject.finish_items(cut=True))
    assert frames[-1]["item"]["status"] == "incomplete"
    play(subject, ToolCallStart(name="read"), ToolCallDelta('{"pa'))
    assert subject.finish_items(cut=True) == []
    assert len(subject.items) == 1


def test_arguments_without_a_call_are_the_engines_fault() -> None:
    with pytest.raises(EngineError):
        ladder().delta(ToolCallDelta("{}"))
    with pytest.raises(EngineError):
        ladder().delta(Finish())


def test_a_response_has_its_thirty_one_keys_from_the_start() -> None:
    created = msgspec.json.decode(ladder().created().data)["response"]
    assert len(REQUIRED & set(created)) == len(REQUIRED) == 31


REQUIRED = {
    *("id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id"),
    *("instructions", "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p"),
    *("presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage"),
    *("max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata"),
    *("safety_identifier", "prompt_cache_key"),
}

_deltas: st.SearchStrategy[Delta] = st.one_of(
    st.builds(TextDelta, st.text(max_size=8)),
    st.builds(ReasoningDelta, st.text(max_size=8)),
    st.just(ItemEnd()),
    st.sampled_from([ToolCallStart(name="f"), ToolCallStart(name="g", kind="custom")]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_deltas, max_size=20))
def test_any_deltas_make_a_legal_ladder(deltas: list[Delta]) -> None:
    """Our own reader knows every event; numbers run on; what is added is done, in order, and shown at the end."""
    subject = ladder()
    frames = [subject.created(), subject.in_progress(), *play(subject, *deltas)]
    frames += [*subject.finish_items(cut=False), subject.completed(USAGE)]
    made = events(frames)
    assert [event["sequence_number"] for event in made] == list(range(len(made)))
    assert [event_type(read_event(frame.data)) for frame in frames] == [frame.type for frame in frames]
    added = [event["output_index"] for event in made if event["type"] == "response.output_item.added"]
    done = [event["output_index"] for event in made if event["type"] == "response.output_item.done"]
    assert added == done == list(range(len(subject.items)))
    assert [event["item"] for event in made if "item" in event and event["type"].endswith("done")] == made[-1][
        "response"
    ]["output"]
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert text == "".join(event["text"] for event in made if event["type"] == "response.output_text.done")


def test_usage_prefers_the_engines_figures() -> None:
    ours = usage_of(Finish(), rendered=10, reused=4, output_tokens=3, reasoning_tokens=1)
    assert ours.input_tokens_details is not None
    assert (ours.input_tokens, ours.input_tokens_details.cached_tokens, ours.total_tokens) == (10, 4, 13)
    theirs = usage_of(
        Finish(input_tokens=20, cached_tokens=8, output_tokens=5, reasoning_tokens=2),
        rendered=10,
        reused=4,
        output_tokens=3,
        reasoning_tokens=1,
    )
    assert theirs.input_tokens_details is not None
    assert theirs.output_tokens_details is not None
    assert (theirs.input_tokens, theirs.input_tokens_details.cached_tokens) == (20, 8)
    assert (theirs.output_tokens, theirs.output_tokens_details.reasoning_tokens, theirs.total_tokens) == (5, 2, 25)
    unknown = usage_of(Finish(input_tokens=20), rendered=10, reused=4, output_tokens=3, reasoning_tokens=1)
    assert unknown.input_tokens_details is None
