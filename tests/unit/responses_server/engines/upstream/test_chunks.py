from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.errors import AuthError, ProtocolError, ServiceError
from agent_core.responses_server.engine import (
    Delta,
    EngineTool,
    Finish,
    ItemEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.upstream.chunks import ChunkReader

TOOLS = FlatTools([EngineTool(name="read", parameters={}), EngineTool(name="go", namespace="car", parameters={})])


def run(*chunks: dict[str, Any]) -> tuple[list[Delta], ChunkReader]:
    reader = ChunkReader(TOOLS)
    deltas = [delta for chunk in chunks for delta in reader.read(msgspec.json.encode(chunk))]
    return deltas + reader.end(done=True, orderly=True), reader


def part(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def end(reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def call(
    index: int | None = 0, id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    fields = {"index": index, "id": id, "function": {k: v for k, v in function.items() if v is not None}}
    return {k: v for k, v in fields.items() if v is not None}


def test_text_and_the_end() -> None:
    deltas, reader = run(part(role="assistant", content=None), part(content="He"), part(content="llo"), end())
    assert deltas == [TextDelta("He"), TextDelta("llo"), ItemEnd()]
    assert reader.complete


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_under_both_names_then_text(field: str) -> None:
    deltas, _ = run(part(**{field: "hm"}), part(content="Yes"), end())
    assert deltas == [ReasoningDelta("hm"), ItemEnd(), TextDelta("Yes"), ItemEnd()]


def test_parallel_calls_in_pieces() -> None:
    deltas, _ = run(
        part(content="I look."),
        part(tool_calls=[call(0, "c1", "read", "")]),
        part(tool_calls=[call(0, arguments='{"a"')]),
        part(tool_calls=[call(0, arguments=": 1}")]),
        part(tool_calls=[call(1, "c2", "car__go", "{}")]),
        end("tool_calls"),
    )
    assert deltas == [
        TextDelta("I look."),
        ItemEnd(),
        ToolCallStart(name="read", call_id="c1"),
        ToolCallDelta('{"a"'),
        ToolCallDelta(": 1}"),
        ItemEnd(),
        ToolCallStart(name="go", namespace="car", call_id="c2"),
        ToolCallDelta("{}"),
        ItemEnd(),
    ]


def test_calls_whose_pieces_alternate() -> None:
    deltas, _ = run(
        part(tool_calls=[call(0, "c1", "read"), call(1, "c2", "read")]),
        part(tool_calls=[call(0, arguments='{"a": {')]),
        part(tool_calls=[call(1, arguments='{"b": 2}')]),
        part(tool_calls=[call(0, arguments="}}")]),
        end("tool_calls"),
    )
    assert deltas == [
        ToolCallStart(name="read", call_id="c1"),
        ToolCallDelta('{"a": {'),
        ToolCallDelta("}}"),
        ItemEnd(),
        ToolCallStart(name="read", call_id="c2"),
        ToolCallDelta('{"b": 2}'),
        ItemEnd(),
    ]


@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_of_servers_that_do_not_count_them(index: int | None) -> None:
    deltas, _ = run(
        part(tool_calls=[call(index, "c1", "read", '{"a": 1}')]),
        part(tool_calls=[call(index, "c2", "read", {"a": 2})]),
        end("tool_calls"),
    )
    assert [delta.call_id for delta in deltas if isinstance(delta, ToolCallStart)] == ["c1", "c2"]
    assert [delta.text for delta in deltas if isinstance(delta, ToolCallDelta)] == ['{"a": 1}', '{"a":2}']


def test_a_name_and_an_id_that_are_repeated_begin_no_new_call() -> None:
    deltas, _ = run(
        part(tool_calls=[call(0, "c1", "read", '{"a"')]), part(tool_calls=[call(0, "c1", "read", ": 1}")]), end()
    )
    assert sum(isinstance(delta, ToolCallStart) for delta in deltas) == 1


def test_no_arguments_are_an_empty_object() -> None:
    deltas, _ = run(part(tool_calls=[call(0, "c1", "read", "")]), end("tool_calls"))
    assert deltas[1:] == [ToolCallDelta("{}"), ItemEnd()]


def test_malformed_arguments_are_passed_on_at_the_end() -> None:
    deltas, _ = run(part(tool_calls=[call(0, "c1", "read", '{"a": ')]), end("tool_calls"))
    assert deltas[1:] == [ToolCallDelta('{"a": '), ItemEnd()]


def test_a_call_that_the_limit_cut_off_is_no_fault() -> None:
    deltas, reader = run(part(tool_calls=[call(0, "c1", "read", '{"a": ')]), end("length"))
    assert ItemEnd() not in deltas
    assert reader.finish().reason == "max_output_tokens"


USAGE = {"prompt_tokens": 10, "completion_tokens": 4}


@pytest.mark.parametrize(
    ("last", "cached"),
    [
        ({"usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 8}}}, 8),
        ({"usage": {**USAGE, "prompt_cache_hit_tokens": 7}}, 7),
        ({"usage": USAGE, "timings": {"cache_n": 6}}, 6),
        ({"usage": USAGE}, None),
        ({"usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 0}}}, 0),
    ],
)
def test_cached_tokens_are_what_the_server_says_and_absent_if_it_does_not(
    last: dict[str, Any], cached: int | None
) -> None:
    _, reader = run(part(content="x"), end(), {"choices": [], **last})
    assert reader.complete
    assert reader.finish() == Finish(input_tokens=10, cached_tokens=cached, output_tokens=4)


@pytest.mark.parametrize(
    ("reason", "told"),
    [("stop", "stop"), ("tool_calls", "stop"), ("length", "max_output_tokens"), ("content_filter",) * 2],
)
def test_why_it_ended(reason: str, told: str) -> None:
    assert run(part(content="x"), end(reason))[1].finish().reason == told


def test_errors_within_a_stream() -> None:
    with pytest.raises(ServiceError) as failure:
        run(part(content="x"), {"error": {"message": "too many", "code": "rate_limit_exceeded"}})
    assert failure.value.code == "rate_limit_exceeded"
    with pytest.raises(AuthError):
        run({"error": {"message": "no", "code": "invalid_api_key"}})


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff", b'{"fine": 1}', b"[" * 100_000, b"[1]"])
def test_what_is_no_chunk(data: bytes) -> None:
    reader = ChunkReader(TOOLS)
    with pytest.raises(ProtocolError):
        reader.read(data)
        reader.end(done=False, orderly=True)
