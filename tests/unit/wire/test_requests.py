from __future__ import annotations

import json

import pytest
from msgspec import UNSET, Raw

from agent_core.errors import WireError
from agent_core.wire.codec import encode, present, to_raw
from agent_core.wire.requests import (
    CLIENT_EVENTS,
    ResponseAppend,
    ResponseCancel,
    ResponseCreate,
    ResponseProcessed,
    ResponseSteer,
    is_stream_id,
    peek_stream_id,
    read_client_frame,
    read_create_body,
    split_input,
)


def _create(**fields: object) -> ResponseCreate:
    event = read_client_frame(json.dumps({"type": "response.create", **fields}))
    assert isinstance(event, ResponseCreate)
    return event


def test_everything_in_a_create_is_optional() -> None:
    create = read_client_frame('{"type":"response.create"}')
    assert create == ResponseCreate()
    assert encode(create) == b'{"type":"response.create"}'
    assert create.input is UNSET
    assert len(ResponseCreate.__struct_fields__) == 37


def test_a_create_keeps_undecoded_what_it_does_not_need() -> None:
    create = _create(input=[{"type": "new"}], tools=[{"type": "new", "x": 1}], reasoning={"effort": "low", "new": 1})
    assert isinstance(create.input, Raw)
    assert isinstance(create.tools, Raw)
    assert isinstance(create.reasoning, Raw)
    assert json.loads(bytes(create.tools)) == [{"type": "new", "x": 1}]
    assert json.loads(bytes(create.reasoning)) == {"effort": "low", "new": 1}


def test_null_is_absent() -> None:
    create = _create(
        reasoning=None, temperature=None, previous_response_id=None, stream_id=None, input=None, tools=None
    )
    assert not present(create.reasoning)
    assert not present(create.tools)
    assert (create.temperature, create.previous_response_id, create.stream_id) == (None, None, None)
    assert isinstance(create.input, Raw)
    assert split_input(create.input) == []


@pytest.mark.parametrize(
    "reasoning", [None, {}, {"effort": "high"}, {"summary": "auto"}, {"effort": None, "summary": "auto", "new": 1}]
)
def test_partial_reasoning_passes(reasoning: object) -> None:
    assert isinstance(_create(reasoning=reasoning), ResponseCreate)


def test_unknown_fields_pass() -> None:
    create = _create(
        client_metadata={"a": "b"}, future={"deep": [1]}, stream_options={"reasoning_summary_delivery": "x"}
    )
    assert json.loads(encode(create)) == {
        "type": "response.create",
        "client_metadata": {"a": "b"},
        "stream_options": {"reasoning_summary_delivery": "x"},
    }


@pytest.mark.parametrize(
    "data", ["", "nope", "[]", "3", '"x"', "null", "{", '{"type":"response.create"} x', b"\xff\xfe"]
)
def test_what_is_no_json_object(data: str | bytes) -> None:
    for read in (read_client_frame, read_create_body):
        with pytest.raises(WireError) as caught:
            read(data)
        assert (caught.value.code, caught.value.param) == ("invalid_json", None)


@pytest.mark.parametrize(
    "data",
    [
        '{"type":"response.create","input":' + "[" * 10_000 + "]" * 10_000 + "}",
        '{"type":"response.create","x":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"type":"response.create","instructions":"\\ud800"}',
        '{"type":"response.create","instructions":"\ud800"}',
        '{"type":"response.create","temperature":NaN}',
        b'{"type":"response.create","input":"\xff"}',
        b'{"type":"response.create","\xff":1}',
        b'{"type":"response.create","x":["\xc3("]}',
    ],
    ids=lambda data: str(data[-20:]),
)
def test_broken_text_inside_a_frame_is_refused(data: str | bytes) -> None:
    with pytest.raises(WireError) as caught:
        read_client_frame(data)
    assert caught.value.code == "invalid_json"


@pytest.mark.parametrize(
    ("frame", "code", "param"),
    [
        ({"type": "response.inject"}, "unsupported_event_type", "type"),
        ({"type": ""}, "invalid_request", "type"),
        ({"type": 3}, "invalid_request", "type"),
        ({"type": None}, "invalid_request", "type"),
        ({}, "invalid_request", "type"),
        ({"model": "x"}, "invalid_request", "type"),
        ({"type": "response.steer"}, "invalid_request", "input"),
        ({"type": "response.steer", "input": "x"}, "invalid_request", "previous_response_id"),
        ({"type": "response.steer", "input": 4, "previous_response_id": "r"}, "invalid_request", "input"),
        ({"type": "response.cancel", "stream_id": 4}, "invalid_stream_id", "stream_id"),
    ],
)
def test_frames_that_are_refused(frame: dict[str, object], code: str, param: str) -> None:
    with pytest.raises(WireError) as caught:
        read_client_frame(json.dumps(frame))
    assert (caught.value.code, caught.value.param) == (code, param)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": 4}, "model"),
        ({"instructions": []}, "instructions"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"max_output_tokens": 10**30}, "max_output_tokens"),
        ({"top_logprobs": -(10**30)}, "top_logprobs"),
        ({"store": "yes"}, "store"),
        ({"generate": 0}, "generate"),
        ({"include": "x"}, "include"),
        ({"include": ["a", 4]}, "include[1]"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"metadata": []}, "metadata"),
        ({"reasoning": "high"}, "reasoning"),
        ({"reasoning": {"effort": 3}}, "reasoning.effort"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name"),
        ({"text": {"format": {"type": "json_schema", "name": "n", "schema": "x"}}}, "text.format.schema"),
        ({"context_management": {"type": "compaction"}}, "context_management"),
        (
            {"context_management": [{"type": "compaction", "compact_threshold": "x"}]},
            "context_management[0].compact_threshold",
        ),
        ({"conversation": 4}, "conversation"),
        ({"prompt": {}}, "prompt.id"),
        ({"prompt_cache_options": {"prewarm": "x"}}, "prompt_cache_options.prewarm"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.name"),
        ({"client_metadata": {"a": 10**40}}, "client_metadata"),
        ({"text": {"x": json.loads("[" * 300 + "]" * 300)}}, "text"),
        ({"previous_response_id": 4}, "previous_response_id"),
    ],
)
def test_a_bad_field_is_named(fields: dict[str, object], param: str) -> None:
    for read, frame in ((read_client_frame, {"type": "response.create", **fields}), (read_create_body, fields)):
        with pytest.raises(WireError) as caught:
            read(json.dumps(frame))
        assert (caught.value.code, caught.value.param) == ("invalid_request", param)


@pytest.mark.parametrize("text", ["\\ud800", "\\udc00", "\\ud800abcdefghijkl", "\\ud800\\ud800", "\\ud800\\n\\u0041"])
def test_lone_surrogates_in_settings_are_refused(text: str) -> None:
    with pytest.raises(WireError):
        read_client_frame('{"type":"response.create","reasoning":{"x":"%s"}}' % text)  # noqa: UP031 (JSON has braces)


def test_an_http_body_needs_no_type() -> None:
    assert read_create_body('{"model":"m","input":"hi"}') == read_create_body(
        b'{"type":"response.create","model":"m","input":"hi"}'
    )


def test_the_other_client_events() -> None:
    assert read_client_frame('{"type":"response.cancel"}') == ResponseCancel()
    assert read_client_frame('{"type":"response.cancel","stream_id":"a"}') == ResponseCancel(stream_id="a")
    steer = read_client_frame('{"type":"response.steer","previous_response_id":"r","input":"go"}')
    assert steer == ResponseSteer(previous_response_id="r", input=Raw(b'"go"'))
    assert read_client_frame('{"type":"response.processed","response_id":"r"}') == ResponseProcessed(response_id="r")
    assert isinstance(read_client_frame('{"type":"response.append","input":[]}'), ResponseAppend)
    assert len(CLIENT_EVENTS) == 5


def test_split_input() -> None:
    (item,) = split_input(to_raw('say "hi"'))
    assert json.loads(bytes(item)) == {"type": "message", "role": "user", "content": 'say "hi"'}
    assert [bytes(raw) for raw in split_input(Raw(b'[{"a": 1}, 2]'))] == [b'{"a": 1}', b"2"]
    for body in (b"3", b"{}", b"true"):
        with pytest.raises(WireError) as caught:
            split_input(Raw(body))
        assert caught.value.param == "input"


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a", True),
        ("A-b_c.9", True),
        ("x" * 256, True),
        ("", False),
        ("x" * 257, False),
        ("a b", False),
        ("é", False),
        ("a\n", False),
    ],
)
def test_stream_ids(text: str, good: bool) -> None:
    assert is_stream_id(text) is good
    assert peek_stream_id(json.dumps({"stream_id": text})) == (text if good else None)


def test_the_lane_of_a_bad_frame() -> None:
    assert peek_stream_id('{"type":"response.create","stream_id":"a","model":4}') == "a"
    for data in ("nope", "[]", '{"stream_id":4}', '{"stream_id":null}', "{}", b"\xff"):
        assert peek_stream_id(data) is None
