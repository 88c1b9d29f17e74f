"""Order of events of one response: every state with every event, numbers, and the output that counts."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import ProtocolError
from agent_core.protocol.response_stream import (
    ITEM_TABLE,
    RESPONSE_TABLE,
    ItemState,
    Kind,
    ResponseState,
    ResponseStream,
    kinds,
)
from agent_core.wire.events import EVENTS, UnknownEvent, read_event
from tests.support import model_events as make

RUNNING = make.response("resp_1", "in_progress")

EVENT: dict[Kind, dict[str, Any]] = {
    Kind.CREATED: {"type": "response.created", "response": RUNNING},
    Kind.QUEUED: {"type": "response.queued", "response": RUNNING},
    Kind.IN_PROGRESS: {"type": "response.in_progress", "response": RUNNING},
    Kind.ITEM_ADDED: {"type": "response.output_item.added", "output_index": 0, "item": make.message("")},
    Kind.ITEM_INNER: {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "item_id": "msg_1",
        "delta": "x",
    },
    Kind.ITEM_DONE: {"type": "response.output_item.done", "output_index": 0, "item": make.message("x")},
    Kind.COMPLETED: {"type": "response.completed", "response": make.response("resp_1", "completed")},
    Kind.INCOMPLETE: {"type": "response.incomplete", "response": make.response("resp_1", "incomplete")},
    Kind.FAILED: {"type": "response.failed", "response": make.response("resp_1", "failed")},
    Kind.ERROR: make.error("server_error"),
    Kind.ASIDE: {"type": "acme:keepalive"},
}

WAY_TO = {
    ResponseState.WAITING: [],
    ResponseState.OPEN: [Kind.CREATED],
    ResponseState.ENDED: [Kind.CREATED, Kind.COMPLETED],
}

LEGAL = {
    ResponseState.WAITING: {
        Kind.CREATED: ResponseState.OPEN,
        Kind.QUEUED: ResponseState.OPEN,
        Kind.FAILED: ResponseState.ENDED,
        Kind.ERROR: ResponseState.ENDED,
        Kind.ASIDE: ResponseState.WAITING,
    },
    ResponseState.OPEN: {
        Kind.QUEUED: ResponseState.OPEN,
        Kind.IN_PROGRESS: ResponseState.OPEN,
        Kind.ITEM_ADDED: ResponseState.OPEN,
        Kind.ITEM_INNER: ResponseState.OPEN,
        Kind.ITEM_DONE: ResponseState.OPEN,
        Kind.COMPLETED: ResponseState.ENDED,
        Kind.INCOMPLETE: ResponseState.ENDED,
        Kind.FAILED: ResponseState.ENDED,
        Kind.ERROR: ResponseState.ENDED,
        Kind.ASIDE: ResponseState.OPEN,
    },
    ResponseState.ENDED: {Kind.ASIDE: ResponseState.ENDED},
}


def feed(stream: ResponseStream, *events: dict[str, Any]) -> ResponseStream:
    for event in events:
        stream.feed(read_event(json.dumps(event)))
    return stream


def items(*raws: bytes) -> list[Any]:
    return [json.loads(raw) for raw in raws]


@pytest.mark.parametrize(("state", "kind"), list(itertools.product(ResponseState, Kind)))
def test_every_state_of_a_response_with_every_kind_of_event(state: ResponseState, kind: Kind) -> None:
    stream = feed(ResponseStream(), *(EVENT[step] for step in WAY_TO[state]))
    assert stream.state is state
    expected = LEGAL[state].get(kind)
    assert RESPONSE_TABLE.get((state, kind)) is expected or kind is Kind.ITEM_INNER
    if expected is None:
        with pytest.raises(ProtocolError):
            feed(stream, EVENT[kind])
    else:
        assert stream.feed(read_event(json.dumps(EVENT[kind]))) is kind
        assert stream.state is expected


@pytest.mark.parametrize(
    ("before", "event", "legal"),
    [
        ([], Kind.ITEM_ADDED, True),
        ([], Kind.ITEM_INNER, True),  # servers without item events
        ([], Kind.ITEM_DONE, True),
        ([Kind.ITEM_ADDED], Kind.ITEM_ADDED, False),
        ([Kind.ITEM_ADDED], Kind.ITEM_INNER, True),
        ([Kind.ITEM_ADDED], Kind.ITEM_DONE, True),
        ([Kind.ITEM_ADDED, Kind.ITEM_DONE], Kind.ITEM_ADDED, False),
        ([Kind.ITEM_ADDED, Kind.ITEM_DONE], Kind.ITEM_INNER, False),
        ([Kind.ITEM_ADDED, Kind.ITEM_DONE], Kind.ITEM_DONE, False),
    ],
)
def test_every_state_of_an_item_with_every_item_event(before: list[Kind], event: Kind, legal: bool) -> None:
    stream = feed(ResponseStream(), EVENT[Kind.CREATED], *(EVENT[step] for step in before))
    if legal:
        feed(stream, EVENT[event])
    else:
        with pytest.raises(ProtocolError):
            feed(stream, EVENT[event])


def test_the_item_table_has_no_row_out_of_done() -> None:
    assert not [row for row in ITEM_TABLE if row[0] is ItemState.DONE]


def test_every_event_of_the_wire_has_a_kind() -> None:
    assert set(kinds()) == {*EVENTS.values(), UnknownEvent}


def test_output_is_what_the_done_events_said_in_the_order_of_their_index() -> None:
    think, call, text = make.reasoning(), make.tool_call(), make.message("hello")
    events = make.numbered(
        [
            *make.started("resp_1"),
            EVENT[Kind.ITEM_DONE] | {"output_index": 2, "item": text},
            EVENT[Kind.ITEM_DONE] | {"output_index": 0, "item": think},
            EVENT[Kind.ITEM_DONE] | {"output_index": 1, "item": call},
            {"type": "response.completed", "response": make.response("resp_1", "completed")},
        ]
    )
    stream = feed(ResponseStream(), *events)
    assert items(*stream.output()) == [think, call, text]


def test_items_keep_fields_that_nobody_knows() -> None:
    item = {"type": "acme_call", "id": "x", "call_id": "c", "future": {"deep": [1]}}
    stream = feed(
        ResponseStream(),
        EVENT[Kind.CREATED],
        EVENT[Kind.ITEM_DONE] | {"item": item},
        EVENT[Kind.COMPLETED],
    )
    assert items(*stream.output()) == [item]


def test_a_server_without_item_events_is_taken_by_its_terminal_output() -> None:
    text = make.message("hello")
    end = {"type": "response.completed", "response": make.response("resp_1", "completed", [text])}
    assert items(*feed(ResponseStream(), EVENT[Kind.CREATED], EVENT[Kind.ITEM_INNER], end).output()) == [text]


def test_an_item_that_never_became_done_is_taken_from_the_terminal_output_or_is_a_fault() -> None:
    text = make.message("hello")
    begun = [EVENT[Kind.CREATED], EVENT[Kind.ITEM_ADDED]]
    stated = {"type": "response.completed", "response": make.response("resp_1", "completed", [text])}
    assert items(*feed(ResponseStream(), *begun, stated).output()) == [text]
    with pytest.raises(ProtocolError):
        feed(ResponseStream(), *begun, EVENT[Kind.COMPLETED]).output()
    assert feed(ResponseStream(), *begun, EVENT[Kind.INCOMPLETE]).output() == []


@pytest.mark.parametrize("kind", [Kind.FAILED, Kind.ERROR])
def test_a_failed_response_has_no_output(kind: Kind) -> None:
    with pytest.raises(ProtocolError):
        feed(ResponseStream(), EVENT[Kind.CREATED], EVENT[kind]).output()


def test_repeated_in_progress_is_a_keepalive() -> None:
    """openai/codex#43022: the one keepalive that every client takes."""
    text = make.message("hello")
    body = make.item_ladder(0, text)
    events = make.started("resp_1")
    for event in body:
        events += [event, EVENT[Kind.IN_PROGRESS]]
    events.append({"type": "response.completed", "response": make.response("resp_1", "completed", [text])})
    assert items(*feed(ResponseStream(), *make.numbered(events)).output()) == [text]


def test_begun_tells_whether_anything_can_have_run() -> None:
    assert not feed(ResponseStream(), EVENT[Kind.ASIDE]).begun
    assert feed(ResponseStream(), EVENT[Kind.ASIDE], EVENT[Kind.CREATED]).begun
    assert not feed(ResponseStream(), EVENT[Kind.ERROR]).begun


def test_another_responses_event_is_a_fault() -> None:
    other = {"type": "response.completed", "response": make.response("resp_2", "completed")}
    with pytest.raises(ProtocolError):
        feed(ResponseStream(), EVENT[Kind.CREATED], other)


def test_events_without_numbers_pass() -> None:
    events = make.ladder("resp_1", make.message("hello"))
    for event in events:
        del event["sequence_number"]
    assert feed(ResponseStream(), *events).state is ResponseState.ENDED


def test_numbers_may_start_anywhere_and_what_stands_aside_needs_none() -> None:
    events = make.ladder("resp_1", make.message("hello"))
    for event in events:
        event["sequence_number"] += 7
    events.insert(0, {"type": "codex.rate_limits"})
    events.insert(4, {"type": "codex.rate_limits"})
    assert feed(ResponseStream(), *events).state is ResponseState.ENDED


def test_an_unknown_event_with_a_number_counts() -> None:
    events = [*make.started("resp_1"), {"type": "acme:keepalive"}, EVENT[Kind.COMPLETED]]
    assert feed(ResponseStream(), *make.numbered(events)).state is ResponseState.ENDED


LADDER = make.ladder("resp_1", make.reasoning(), make.tool_call(), make.message("hello"))


@given(st.integers(0, len(LADDER) - 2))
def test_a_lost_event_never_goes_unnoticed(at: int) -> None:
    with pytest.raises(ProtocolError):
        feed(ResponseStream(), *LADDER[:at], *LADDER[at + 1 :])


@given(st.integers(0, len(LADDER) - 1))
def test_a_repeated_event_never_goes_unnoticed(at: int) -> None:
    with pytest.raises(ProtocolError):
        feed(ResponseStream(), *LADDER[: at + 1], *LADDER[at:])


@given(st.permutations(LADDER))
def test_any_other_order_is_noticed(order: list[dict[str, Any]]) -> None:
    if order == LADDER:
        return
    with pytest.raises(ProtocolError):
        feed(ResponseStream(), *order)
