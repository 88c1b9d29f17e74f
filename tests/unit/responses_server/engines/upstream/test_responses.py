from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from agent_core.errors import AuthError, EngineError, ServiceError
from agent_core.responses_server.engine import (
    Delta,
    EngineTool,
    Finish,
    Grammar,
    ItemEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.upstream.lane import Span, span_of
from agent_core.responses_server.engines.upstream.responses import ResponsesReader, input_items, response_body
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings
from agent_core.wire.items import AnyItem, Message, Reasoning
from tests.support.engines.upstream_requests import GO, READ, answer, called_upstream, engine_request

SMALL = UpstreamSettings(url="http://h/v1", model="m")
OPENAI = UpstreamSettings(url="https://api.openai.com/v1", model="m")
ALL: Any = {"content_index": 0, "sequence_number": 0}


def run(*events: dict[str, Any]) -> tuple[list[Delta], ResponsesReader]:
    reader = ResponsesReader(FlatTools([READ, GO]))
    return [delta for event in events for delta in reader.read(msgspec.json.encode(event))], reader


def completed(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"id": "resp_far", "status": status, "output": [], **fields}}


def item(kind: str, item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


MESSAGE = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
CALL = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "car__go", "arguments": '{"a": 1}'}


def test_text_with_its_usage() -> None:
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 2, "total_tokens": 11}
    deltas, reader = run(
        item("added", {**MESSAGE, "content": []}),
        {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "delta": "Hello", **ALL},
        item("done", MESSAGE),
        completed(usage=usage),
    )
    assert deltas == [TextDelta("Hello"), ItemEnd()]
    assert reader.finish() == Finish(input_tokens=9, cached_tokens=8, output_tokens=2)
    assert (reader.response_id, reader.count) == ("resp_far", 1)


def test_what_a_server_does_not_report_is_unknown() -> None:
    _, reader = run(completed(usage={"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}))
    assert reader.finish() == Finish(input_tokens=9, output_tokens=2)
    _, reader = run(completed())
    assert reader.finish() == Finish()


def test_a_call_in_pieces_by_its_flat_name() -> None:
    deltas, _ = run(
        item("added", {**CALL, "arguments": ""}),
        {"type": "response.function_call_arguments.delta", "item_id": "f1", "output_index": 0, "delta": '{"a"'},
        item("done", CALL),
    )
    start = ToolCallStart(name="go", namespace="car", call_id="c1")
    assert deltas == [start, ToolCallDelta('{"a"'), ToolCallDelta(": 1}"), ItemEnd()]


def test_parallel_calls_whose_pieces_alternate() -> None:
    other = {**CALL, "id": "f2", "call_id": "c2", "name": "read"}
    deltas, _ = run(
        item("added", {**CALL, "arguments": ""}),
        item("added", {**other, "arguments": ""}, 1),
        {"type": "response.function_call_arguments.delta", "item_id": "f2", "output_index": 1, "delta": '{"a": 1}'},
        item("done", other, 1),
        item("done", CALL),
    )
    assert [delta.call_id for delta in deltas if isinstance(delta, ToolCallStart)] == ["c1", "c2"]
    assert [delta.text for delta in deltas if isinstance(delta, ToolCallDelta)] == ['{"a": 1}', '{"a": 1}']


def test_items_that_come_only_whole() -> None:
    thought = {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "hm"}]}
    whole = [ReasoningDelta("hm"), ItemEnd(), TextDelta("Hello"), ItemEnd()]
    assert run(item("done", thought), item("done", MESSAGE, 1), completed())[0] == whole
    assert run(completed(output=[thought, MESSAGE]))[0] == whole


def test_parts_of_reasoning_are_set_apart() -> None:
    at = {"item_id": "r1", "output_index": 0}
    deltas, _ = run(
        {"type": "response.reasoning_summary_text.delta", **at, "summary_index": 0, "delta": "a"},
        {"type": "response.reasoning_summary_part.added", **at, "summary_index": 1, "part": {}},
        {"type": "response.reasoning_summary_text.delta", **at, "summary_index": 1, "delta": "b"},
    )
    assert deltas == [ReasoningDelta("a"), ReasoningDelta("\n\n"), ReasoningDelta("b")]


def test_malformed_arguments_are_passed_on() -> None:
    deltas, _ = run(item("done", {**CALL, "arguments": "{nope"}), completed())
    assert deltas[1:] == [ToolCallDelta("{nope"), ItemEnd()]


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_a_call_that_the_limit_cut_off_is_no_fault(status: str) -> None:
    """llama.cpp says "completed" here; that the limit was reached tells what happened."""
    reader = ResponsesReader(FlatTools([READ, GO]), 5)
    usage = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    for event in (item("done", {**CALL, "arguments": '{"a'}), completed(status, usage=usage)):
        reader.read(msgspec.json.encode(event))
    assert reader.finish().reason == "max_output_tokens"


@pytest.mark.parametrize(
    ("reason", "told"), [("max_output_tokens", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_why_it_ended_early(reason: str, told: str) -> None:
    assert run(completed("incomplete", incomplete_details={"reason": reason}))[1].finish().reason == told


def test_an_end_that_nobody_knows_is_a_failure() -> None:
    with pytest.raises(EngineError, match="early \\(bored\\)"):
        run(completed("incomplete", incomplete_details={"reason": "bored"}))


def test_failures_keep_their_codes() -> None:
    with pytest.raises(ServiceError) as failure:
        run(completed("failed", error={"code": "rate_limit_exceeded", "message": "slow"}))
    assert failure.value.code == "rate_limit_exceeded"
    with pytest.raises(ServiceError) as failure:
        run({"type": "error", "status": 503, "error": {"type": "server_error", "message": "busy"}})
    assert failure.value.status == 503
    with pytest.raises(AuthError):
        run({"type": "error", "status": 401, "error": {"type": "x", "message": "no", "code": "invalid_api_key"}})


def test_a_body_has_what_was_set_and_nothing_else() -> None:
    schema = {"type": "json_schema", "name": "a", "schema": {}}
    request = engine_request(temperature=0, max_output_tokens=5, text_format=schema, max_tool_calls=1)
    body = response_body(request, SMALL, "key-1")
    assert {name: body[name] for name in ("model", "store", "stream", "temperature", "max_output_tokens")} == {
        "model": "m", "store": False, "stream": True, "temperature": 0, "max_output_tokens": 5,
    }  # fmt: skip
    assert body["text"] == {"format": schema}
    assert (body["prompt_cache_key"], body["parallel_tool_calls"]) == ("key-1", False)
    assert [tool["name"] for tool in body["tools"]] == ["read", "car__go"]
    assert "reasoning" not in body
    assert "include" not in body


def test_reasoning_is_asked_for_in_a_form_that_can_be_sent_back() -> None:
    body = response_body(engine_request(reasoning={"effort": "low"}), SMALL, None)
    assert (body["reasoning"], body["include"]) == ({"effort": "low"}, ["reasoning.encrypted_content"])
    assert "prompt_cache_key" not in body


def test_a_key_is_kept_from_servers_that_refuse_it() -> None:
    settings = msgspec.structs.replace(SMALL, cache_key=False)
    assert "prompt_cache_key" not in response_body(engine_request(), settings, "key-1")


@pytest.mark.parametrize(
    ("settings", "fields", "names", "choice"),
    [
        (SMALL, {}, ["read", "car__go"], "auto"),
        (SMALL, {"tools": ()}, ["read", "car__go"], "none"),
        (SMALL, {"must_call": True}, ["read", "car__go"], "required"),
        (SMALL, {"tools": (GO,), "must_call": True}, ["car__go"], "required"),
        (OPENAI, {"tools": (GO,), "must_call": True}, ["read", "car__go"], {"type": "function", "name": "car__go"}),
        (OPENAI, {"tools": (GO,)}, ["car__go"], "auto"),
    ],
)
def test_tools_and_the_choice_among_them(
    settings: UpstreamSettings, fields: dict[str, Any], names: list[str], choice: object
) -> None:
    body = response_body(engine_request(**fields), settings, None)
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (names, choice)


def test_free_form_tools_keep_their_grammar() -> None:
    patch = EngineTool(name="patch", kind="custom", format=Grammar(syntax="lark", definition="start: /x/"))
    body = response_body(engine_request(tools=(patch,), offered=(patch,)), OPENAI, None)
    assert body["tools"][0]["format"] == {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}


def test_our_ids_and_reasoning_are_not_sent_to_a_server_that_never_saw_them() -> None:
    items: list[AnyItem] = [
        Message(role="user", content="hi", id="msg_ours"),
        Reasoning(id="rs_ours", summary=[], encrypted_content="ours"),
        called_upstream(),
        answer(),
    ]
    sent = [msgspec.json.decode(raw) for raw in input_items(items, 0, [])]
    assert [each["type"] for each in sent] == ["message", "function_call", "function_call_output"]
    assert not any("id" in each or "status" in each for each in sent)
    assert (sent[1]["name"], "namespace" in sent[1]) == ("car__go", False)


def test_a_servers_own_items_are_sent_back_as_they_came() -> None:
    sealed = Raw(b'{"type":"reasoning","id":"rs_far","summary":[],"encrypted_content":"theirs"}')
    theirs = [sealed, Raw(msgspec.json.encode(CALL))]
    span = span_of(1, 1, theirs)
    assert span is not None
    items: list[AnyItem] = [Message(role="user", content="hi"), called_upstream(), answer()]
    assert input_items(items, 0, [span])[1:3] == theirs
    assert len(input_items(items, 2, [span])) == 1
    changed: list[AnyItem] = [items[0], called_upstream("other"), answer("other")]
    assert sealed not in input_items(changed, 0, [span])
    assert span_of(1, 1, theirs[1:]) is None
    assert Span(1, 5, theirs).stands_for(items, 1) is False
