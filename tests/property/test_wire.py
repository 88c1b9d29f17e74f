"""Whatever a peer sends: it round-trips, or it is refused with a WireError; nothing else escapes the readers."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import encode, to_raw
from agent_core.wire.events import UnknownEvent, read_event
from agent_core.wire.items import UnknownItem, call_id_of, output_call_id, read_item, read_item_strict, text_of
from agent_core.wire.requests import peek_stream_id, read_client_frame, read_create_body, split_input
from agent_core.wire.tools import read_tools
from tests.support.wire.strategies import json_values, objects, strategies

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def _write(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@few
@given(strategies.events())
def test_events_round_trip(event: dict[str, Any]) -> None:
    found = read_event(_write(event))
    assert not isinstance(found, UnknownEvent)
    again = encode(found)
    if event["type"] != "error":
        assert json.loads(again) == event
    assert read_event(again) == found


@few
@given(strategies.items())
def test_items_round_trip_through_both_readers(item: dict[str, Any]) -> None:
    raw = Raw(_write(item))
    lenient = read_item(raw)
    assert not isinstance(lenient, UnknownItem)
    assert json.loads(encode(lenient)) == item
    text_of(lenient), call_id_of(lenient), output_call_id(lenient)
    if item["type"] not in ("message", "item_reference"):  # these two have rules of their own
        assert read_item_strict(raw, "input[0]") == lenient


@few
@given(strategies.tools())
def test_tools_round_trip(tool: dict[str, Any]) -> None:
    (found,) = read_tools(to_raw([tool]))
    assert json.loads(encode(found)) == tool


@few
@given(strategies.creates(), objects)
def test_creates_round_trip(create: dict[str, Any], input: dict[str, Any]) -> None:
    frame = {**create, "input": [input], "tools": [input]}
    found = read_client_frame(_write(frame))
    assert json.loads(encode(found)) == frame
    body = read_create_body(_write({name: value for name, value in frame.items() if name != "type"}))
    assert body == found
    assert isinstance(body.input, Raw)
    assert [json.loads(bytes(raw)) for raw in split_input(body.input)] == [input]


@few
@given(strategies.items(), objects)
def test_unknown_fields_change_nothing(item: dict[str, Any], more: dict[str, Any]) -> None:
    grown = {**item, **{f"x_{name}": value for name, value in more.items()}}
    assert read_item(_write(grown)) == read_item(_write(item))


@few
@given(strategies.events(), st.data())
def test_null_in_an_optional_field_is_the_same_as_no_field(event: dict[str, Any], data: st.DataObject) -> None:
    written = json.loads(encode(read_event(_write(event))))
    name = data.draw(st.sampled_from(["stream_id", "x", "sequence_number"]))
    without = {key: value for key, value in event.items() if key != name}
    if written["type"] == "error":
        return
    assert encode(read_event(_write({**without, name: None}))) == encode(read_event(_write(without)))


@few
@given(json_values | strategies.events().flatmap(lambda event: st.sampled_from(_mutations(event))))
def test_read_event_takes_every_object_and_no_more(value: Any) -> None:
    body = _write(value)
    if not isinstance(value, dict):
        with pytest.raises(WireError) as caught:
            read_event(body)
        assert caught.value.code == "invalid_json"
        return
    found = read_event(body)
    if isinstance(found, UnknownEvent):
        assert encode(found) == body
    if value.get("type") in ("error", "response.completed", "response.incomplete", "response.failed"):
        assert not isinstance(found, UnknownEvent)


@few
@given(st.binary(max_size=40) | st.text(max_size=40))
def test_only_wire_errors_leave_the_readers_of_frames(data: bytes | str) -> None:
    for read in (read_event, read_client_frame, read_create_body):
        with pytest.raises(WireError) as caught:
            read(data)
            raise WireError("read", code="invalid_json")  # a frame that happens to be one
        assert caught.value.code in ("invalid_json", "invalid_request", "unsupported_event_type")
    peek_stream_id(data)


@few
@given(strategies.creates().flatmap(lambda create: st.sampled_from(_mutations(create))))
def test_mutated_creates_pass_or_name_a_field(create: dict[str, Any]) -> None:
    try:
        read_client_frame(_write(create))
    except WireError as exc:
        assert exc.code in ("invalid_request", "unsupported_event_type", "invalid_stream_id")
        assert exc.param is not None
        assert exc.param.split(".")[0].split("[")[0] in create or exc.param == "type"


@few
@given((strategies.items() | objects).flatmap(lambda item: st.sampled_from(_mutations(item))))
def test_mutated_items_pass_or_name_a_field(item: dict[str, Any]) -> None:
    raw = Raw(_write(item))
    lenient = read_item(raw)
    text_of(lenient), call_id_of(lenient), output_call_id(lenient)
    try:
        strict = read_item_strict(raw, "input[7]")
    except WireError as exc:
        assert exc.code == "invalid_request"
        assert exc.param is not None
        assert exc.param.startswith("input[7]")
    else:
        assert strict == lenient


@few
@given(st.lists((strategies.tools() | objects).flatmap(lambda tool: st.sampled_from(_mutations(tool))), max_size=2))
def test_mutated_tools_pass_or_name_a_field(tools: list[dict[str, Any]]) -> None:
    try:
        read_tools(to_raw(tools))
    except WireError as exc:
        assert exc.code == "invalid_request"
        assert exc.param is not None
        assert exc.param.startswith("tools[")


@few
@given(strategies.items().map(_write), st.data())
def test_damaged_bytes_raise_only_wire_errors(body: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(body) - 1))
    damaged = body[:place] + data.draw(st.binary(max_size=3)) + body[place + 1 :]
    with contextlib.suppress(WireError):
        text_of(read_item(damaged))
    with contextlib.suppress(WireError):
        text_of(read_item_strict(damaged, "input[0]"))


def _mutations(frame: dict[str, Any]) -> list[dict[str, Any]]:
    """Each field in turn: gone, and of another type."""
    found = [frame]
    wrongs: list[Any] = [None, 0, 1.5, "", [], {}, [{}], {"type": "x"}, True]
    for name in frame:
        found.append({key: value for key, value in frame.items() if key != name})
        found.extend({**frame, name: wrong} for wrong in wrongs)
    return found
