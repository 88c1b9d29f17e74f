from __future__ import annotations

import json

import msgspec
import pytest

from agent_core.errors import WireError
from agent_core.wire.codec import encode, to_raw
from agent_core.wire.events import (
    EVENTS,
    TERMINAL_TYPES,
    ErrorEvent,
    FunctionCallArgumentsDone,
    OutputItemAdded,
    OutputTextDelta,
    ResponseCompleted,
    ResponseFailed,
    ResponseInProgress,
    UnknownEvent,
    WebsocketTiming,
    event_type,
    read_event,
)
from agent_core.wire.response import InputTokensDetails, Response, ResponseError, Usage

DELTA = {
    "type": "response.output_text.delta",
    "item_id": "msg_1",
    "output_index": 0,
    "content_index": 0,
    "delta": "Hel",
    "logprobs": [],
    "sequence_number": 4,
}


def _read(frame: object) -> object:
    return read_event(json.dumps(frame))


def test_what_a_writer_gives_is_what_clients_expect() -> None:
    written = json.loads(encode(OutputTextDelta(item_id="msg_1", output_index=0, content_index=0, delta="Hel")))
    assert written == {**DELTA, "sequence_number": 0}
    assert next(iter(written)) == "type"


def test_stream_id_is_written_only_on_named_lanes() -> None:
    event = OutputItemAdded(item=to_raw({"type": "message"}), output_index=0, stream_id="a")
    assert json.loads(encode(event))["stream_id"] == "a"
    event.stream_id = None
    assert "stream_id" not in json.loads(encode(event))


@pytest.mark.parametrize("key_order", [list(DELTA), sorted(DELTA), sorted(DELTA, reverse=True)])
def test_key_order_does_not_matter(key_order: list[str]) -> None:
    event = _read({name: DELTA[name] for name in key_order})
    assert isinstance(event, OutputTextDelta)
    assert (event.delta, event.sequence_number) == ("Hel", 4)


@pytest.mark.parametrize(
    "change",
    [
        {"logprobs": None},
        {"logprobs": "x"},
        {"sequence_number": None},
        {"sequence_number": 4.0},
        {"sequence_number": "4", "output_index": "0"},
        {"stream_id": 7},
        {"item_id": None, "output_index": None},
        {"content_index": 0.0},
        {"obfuscation": "aQ", "unknown": {"x": [1]}},
    ],
)
def test_lenient_reading_keeps_the_text(change: dict[str, object]) -> None:
    event = _read({**DELTA, **change})
    assert isinstance(event, OutputTextDelta)
    assert event.delta == "Hel"


@pytest.mark.parametrize("missing", ["logprobs", "sequence_number", "item_id", "output_index", "content_index"])
def test_lenient_reading_does_without_the_rest(missing: str) -> None:
    event = _read({name: value for name, value in DELTA.items() if name != missing})
    assert isinstance(event, OutputTextDelta)
    assert event.delta == "Hel"


@pytest.mark.parametrize("change", [{"delta": 3}, {"delta": None}, {"item_id": 4}, {"output_index": []}])
def test_a_misfit_in_what_matters_is_kept_raw(change: dict[str, object]) -> None:
    frame = {**DELTA, **change, "stream_id": "lane"}
    event = _read(frame)
    assert isinstance(event, UnknownEvent)
    assert (event.type, event.sequence_number, event.stream_id) == (DELTA["type"], 4, "lane")
    assert json.loads(encode(event)) == frame


@pytest.mark.parametrize(
    "frame", [{"type": "codex.rate_limits", "x": 1}, {"type": "keepalive"}, {"type": 4}, {"type": None}, {}]
)
def test_unknown_types_are_kept_raw(frame: dict[str, object]) -> None:
    event = _read(frame)
    assert isinstance(event, UnknownEvent)
    assert event_type(event) == (frame.get("type") if isinstance(frame.get("type"), str) else "")
    assert json.loads(encode(event)) == frame


@pytest.mark.parametrize(
    "data", ["", "[1]", "null", "3", '"x"', "{", '{"a":1} x', "nope", b"\xff", b"[" * 100_000, "\ud800", '{"a":NaN}']
)
def test_what_is_no_json_object_is_an_error(data: str | bytes) -> None:
    with pytest.raises(WireError) as caught:
        read_event(data)
    assert (caught.value.code, caught.value.param) == ("invalid_json", None)


def test_deep_unknown_fields_do_not_hide_a_known_event() -> None:
    frame = json.dumps(DELTA)[:-1] + ',"x":' + "[" * 300 + "]" * 300 + "}"
    assert isinstance(read_event(frame), OutputTextDelta)


@pytest.mark.parametrize("kind", sorted(TERMINAL_TYPES))
@pytest.mark.parametrize("response", ["absent", None, 3, [], {}, {"id": 4, "output": 7, "usage": []}])
def test_a_terminal_event_is_recognised_in_any_shape(kind: str, response: object) -> None:
    frame = {"type": kind, "sequence_number": 9, "stream_id": "a"}
    if response != "absent":
        frame["response"] = response
    event = _read(frame)
    assert isinstance(event, EVENTS[kind])
    assert event_type(event) == kind
    assert (event.sequence_number, event.stream_id) == (9, "a")
    assert isinstance(event, ResponseCompleted) == (kind == "response.completed")


def test_a_terminal_event_gives_what_fits() -> None:
    event = _read(
        {
            "type": "response.failed",
            "response": {
                "id": "resp_1",
                "status": "failed",
                "created_at": 1764490000.5,
                "parallel_tool_calls": "yes",
                "output": None,
                "error": {"code": None, "message": "Too much.", "param": 7},
                "usage": {
                    "input_tokens": 5,
                    "output_tokens": 2.0,
                    "total_tokens": None,
                    "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": None},
                },
            },
        }
    )
    assert isinstance(event, ResponseFailed)
    response = event.response
    assert (response.id, response.status, response.created_at) == ("resp_1", "failed", 1764490000.5)
    assert response.output == []
    assert response.error == ResponseError(code="", message="Too much.")
    assert response.usage == Usage(
        input_tokens=5, output_tokens=2, input_tokens_details=InputTokensDetails(cached_tokens=3)
    )
    assert response.usage.output_tokens_details is None


def test_items_in_events_stay_as_they_came() -> None:
    item = {"type": "new_kind", "x": {"y": [1, None]}}
    event = _read({"type": "response.output_item.added", "output_index": 0, "item": item})
    assert isinstance(event, OutputItemAdded)
    assert json.loads(bytes(event.item)) == item
    done = _read({"type": "response.completed", "response": {"id": "r", "output": [item]}})
    assert isinstance(done, ResponseCompleted)
    assert [json.loads(bytes(raw)) for raw in done.response.output] == [item]


def test_raw_fields_outlive_the_frame() -> None:
    event = read_event(json.dumps({"type": "response.output_item.added", "output_index": 0, "item": {"é": "ü" * 99}}))
    assert isinstance(event, OutputItemAdded)
    assert json.loads(bytes(event.item)) == {"é": "ü" * 99}


def test_extension_events() -> None:
    timing = _read({"type": "responsesapi.websocket_timing", "timing_metrics": {"engine_ms": 3.5}})
    assert isinstance(timing, WebsocketTiming)
    assert timing.timing_metrics == {"engine_ms": 3.5}
    early = _read({"type": "response.in_progress", "response": {}, "sequence_number": 0})
    assert isinstance(early, ResponseInProgress)


def test_the_arguments_done_event_may_name_its_function() -> None:
    event = _read({**DELTA, "type": "response.function_call_arguments.done", "arguments": "{}", "name": "read"})
    assert isinstance(event, FunctionCallArgumentsDone)
    assert event.arguments == "{}"


def test_all_events_can_be_stamped() -> None:
    for tag, kind in EVENTS.items():
        names = {field.encode_name for field in msgspec.structs.fields(kind)}
        assert {"sequence_number", "stream_id"} <= names, tag
    assert len(EVENTS) == 63


def test_an_error_event_is_one_in_every_form() -> None:
    for frame in ({"type": "error"}, {"type": "error", "error": None}, {"type": "error", "error": [1]}):
        assert isinstance(_read(frame), ErrorEvent)


def test_lifecycle_events_write_the_whole_response() -> None:
    written = json.loads(encode(ResponseInProgress(response=Response(id="resp_1"))))
    assert len(written["response"]) == 31
