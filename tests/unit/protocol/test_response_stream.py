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
    RESPONSE_TABLE,
    Kind,
    ResponseState,
    ResponseStream,
    kinds,
)
from agent_core.wire.events import EVENTS, UnknownEvent, read_event
from tests.support.model import events as make

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

ODD_WHILE_WAITING = {
    Kind.IN_PROGRESS,
    Kind.ITEM_ADDED,
    Kind.ITEM_INNER,
    Kind.ITEM_DONE,
    Kind.COMPLETED,
    Kind.INCOMPLETE,
}
ENDS = {Kind.COMPLETED, Kind.INCOMPLETE, Kind.FAILED, Kind.ERROR}


def feed(stream: ResponseStream, *events: dict[str, Any]) -> ResponseStream:
    for event in events:
        stream.feed(read_event(json.dumps(event)))
    return stream


def items(*raws: bytes) -> list[Any]:
    return [json.loads(raw) for raw in raws]


def after(state: ResponseState, kind: Kind) -> ResponseState | None:
    """Where an event leads; None: nowhere, it is a fault."""
    if state is ResponseState.ENDED:
        return state if kind is Kind.ASIDE else None
    if kind in ENDS:
        return ResponseState.ENDED
    return state if kind is Kind.ASIDE else ResponseState.OPEN


@pytest.mark.parametrize(("state", "kind"), list(itertools.product(ResponseState, Kind)))
def test_every_state_of_a_response_with_every_kind_of_event(state: ResponseState, kind: Kind) -> None:
    stream = feed(ResponseStream(), *(EVENT[step] for step in WAY_TO[state]))
    assert stream.state is state
    expected = after(state, kind)
    assert RESPONSE_TABLE.get((state, kind)) is expected
    if expected is None:
        with pytest.raises(ProtocolError):
            feed(stream, EVENT[kind])
        return
    assert stream.feed(read_event(json.dumps(EVENT[kind]))) is kind
    assert stream.state is expected
    odd = (state is ResponseState.WAITING and kind in ODD_WHILE_WAITING) or (
        state is ResponseState.OPEN and kind is Kind.CREATED
    )
    assert bool(stream.oddities) is odd


@pytest.mark.parametrize(
    ("before", "event", "oddity"),
    [
        ([], Kind.ITEM_ADDED, None),
        ([], Kind.ITEM_INNER, None),  # servers without item events
        ([], Kind.ITEM_DONE, None),
        ([Kind.ITEM_ADDED], Kind.ITEM_ADDED, "event_repeated"),
        ([Kind.ITEM_ADDED], Kind.ITEM_INNER, None),
        ([Kind.ITEM_ADDED], Kind.ITEM_DONE, None),
        ([Kind.ITEM_ADDED, Kind.ITEM_DONE], Kind.ITEM_ADDED, "event_late"),
        ([Kind.ITEM_ADDED, Kind.ITEM_DONE], Kind.ITEM_INNER, "event_late"),
        ([Kind.ITEM_ADDED, Kind.ITEM_DONE], Kind.ITEM_DONE, "event_repeated"),
    ],
)
def test_every_state_of_an_item_with_every_item_event(before: list[Kind], event: Kind, oddity: str | None) -> None:
    stream = feed(ResponseStream(), EVENT[Kind.CREATED], *(EVENT[step] for step in before))
    counts = stream.feed(read_event(json.dumps(EVENT[event])))
    assert list(stream.oddities) == ([] if oddity is None else [oddity])
    assert counts is (event if oddity is None else Kind.ASIDE)


def test_every_event_of_the_wire_has_a_kind() -> None:
    assert set(kinds()) == {*EVENTS.values(), UnknownEvent}


def test_output_is_what_the_done_events_said_in_the_order_of_their_index() -> None:
    think, call, text = make.reasoning(), make.tool_call(), make.message("hello")
    events = make.numbered(
        [
            *make.response_started("resp_1"),
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
    events = make.response_started("resp_1")
    for event in body:
        events += [event, EVENT[Kind.IN_PROGRESS]]
    events.append({"type": "response.completed", "response": make.response("resp_1", "completed", [text])})
    assert items(*feed(ResponseStream(), *make.numbered(events)).output()) == [text]


def test_begun_tells_whether_anything_can_have_run() -> None:
    assert not feed(ResponseStream(), EVENT[Kind.ASIDE]).begun
    assert feed(ResponseStream(), EVENT[Kind.ASIDE], EVENT[Kind.CREATED]).begun
    assert not feed(ResponseStream(), EVENT[Kind.ERROR]).begun


def test_a_response_may_change_its_id_and_goes_on_by_the_last_one() -> None:
    """Gateways number responses anew in each event."""
    other = {"type": "response.completed", "response": make.response("resp_2", "completed")}
    stream = feed(ResponseStream(), EVENT[Kind.CREATED], other)
    assert (stream.response_id, list(stream.oddities)) == ("resp_2", ["id_changed"])


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
    events = [*make.response_started("resp_1"), {"type": "acme:keepalive"}, EVENT[Kind.COMPLETED]]
    assert feed(ResponseStream(), *make.numbered(events)).state is ResponseState.ENDED


TEXT = make.message("hello")


def ended(*output: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    return {"type": f"response.{status}", "response": make.response("resp_1", status, output)}


def done(item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return EVENT[Kind.ITEM_DONE] | {"output_index": index, "item": item}


SAME = {
    "another id": TEXT | {"id": "msg_9"},
    "no status": {k: v for k, v in TEXT.items() if k != "status"},
    "no logprobs": TEXT | {"content": [{"type": "output_text", "text": "hello"}]},
    "text in two parts": TEXT | {"content": [{"type": "output_text", "text": t} for t in ("hel", "lo")]},
    "content as a string": TEXT | {"content": "hello"},
}


@pytest.mark.parametrize("stated", SAME.values(), ids=SAME)
def test_an_item_may_be_written_differently_in_the_terminal_event(stated: dict[str, Any]) -> None:
    stream = feed(ResponseStream(), EVENT[Kind.CREATED], done(TEXT), ended(stated))
    assert items(*stream.output()) == [TEXT]


EMPTIER = {
    "text": (TEXT | {"content": []}, TEXT),
    "arguments": (make.tool_call(arguments=""), make.tool_call()),
    "summary": (make.reasoning("", item_id="rs_2"), make.reasoning()),
}


@pytest.mark.parametrize(("empty", "full"), EMPTIER.values(), ids=EMPTIER)
def test_of_an_item_that_is_empty_in_one_place_the_full_form_counts(
    empty: dict[str, Any], full: dict[str, Any]
) -> None:
    for first, last in ((empty, full), (full, empty)):
        assert items(*feed(ResponseStream(), EVENT[Kind.CREATED], done(first), ended(last)).output()) == [full]


CONTRADICTIONS = {
    "done twice with two texts": [done(TEXT), done(make.message("other")), ended(TEXT)],
    "another text in the terminal event": [done(TEXT), ended(make.message("other"))],
    "other arguments": [done(make.tool_call()), ended(make.tool_call(arguments='{"path":"b.py"}'))],
    "another tool": [done(make.tool_call()), ended(make.tool_call(name="write"))],
    "an item that the terminal event lacks": [done(make.reasoning()), done(TEXT, 1), ended(make.reasoning())],
    "an item that never was done": [EVENT[Kind.ITEM_ADDED], ended()],
    "of two items one was never done": [done(TEXT), EVENT[Kind.ITEM_ADDED] | {"output_index": 1}, ended()],
}


@pytest.mark.parametrize("events", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_contradicts_itself_is_a_fault(events: list[dict[str, Any]]) -> None:
    with pytest.raises(ProtocolError):
        feed(ResponseStream(), EVENT[Kind.CREATED], *events).output()


def test_an_item_that_is_in_the_terminal_event_alone_counts_there() -> None:
    """Also where the events of another item were complete."""
    stream = feed(ResponseStream(), EVENT[Kind.CREATED], done(make.reasoning()), ended(make.reasoning(), TEXT))
    assert items(*stream.output()) == [make.reasoning(), TEXT]
    assert list(stream.oddities) == ["item_not_done"]


def test_items_that_all_have_one_index_are_told_apart_by_their_ids() -> None:
    stream = feed(ResponseStream(), EVENT[Kind.CREATED], done(make.reasoning()), done(TEXT), ended())
    assert items(*stream.output()) == [make.reasoning(), TEXT]


LADDER = make.ladder("resp_1", make.reasoning(), make.tool_call(), make.message("hello"))
OUTPUT = LADDER[-1]["response"]["output"]


@given(st.integers(0, len(LADDER) - 2))
def test_a_lost_event_costs_nothing_but_is_noticed(at: int) -> None:
    stream = feed(ResponseStream(), *LADDER[:at], *LADDER[at + 1 :])
    assert items(*stream.output()) == OUTPUT
    assert stream.oddities or at == 0 or at == len(LADDER) - 2


@given(st.integers(0, len(LADDER) - 2))
def test_a_repeated_event_costs_nothing_but_is_noticed(at: int) -> None:
    stream = feed(ResponseStream(), *LADDER[: at + 1], *LADDER[at:])
    assert items(*stream.output()) == OUTPUT
    assert stream.oddities


@given(st.permutations(LADDER[:-1]))
def test_no_order_before_the_terminal_event_changes_the_output(order: list[dict[str, Any]]) -> None:
    assert items(*feed(ResponseStream(), *order, LADDER[-1]).output()) == OUTPUT


TAIL = make.ladder("resp_0", make.message("earlier", "msg_0"))


@given(st.integers(2, len(TAIL) - 1), st.integers(0, len(LADDER) - 2))
def test_the_tail_of_an_earlier_response_is_passed_over(cut: int, at: int) -> None:
    """Its lifecycle events name it; `Reply` keeps them away."""
    stream = feed(ResponseStream({"msg_0"}), *LADDER[:at], *TAIL[cut:-1], *LADDER[at:])
    assert items(*stream.output()) == OUTPUT
