"""Every setting is honoured or refused by name, over WebSocket and HTTP alike; nothing is dropped in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_core.wire.requests import ResponseCreate
from tests.support.service.running import Running, connected, http_client, parse_sse, playing

GO: dict[str, Any] = {"model": "scripted", "input": "go", "store": False}
READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
PATCH = {"type": "custom", "name": "patch"}

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"background": True}, "background"),
    ({"background_options": {"completion_window": "2h"}}, "background_options"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"conversation": {"id": "conv_1"}}, "conversation"),
    ({"prompt": {"id": "pmpt_1"}}, "prompt"),
    ({"moderation": {"model": "omni"}}, "moderation"),
    ({"image": {"context_compression": "auto"}}, "image"),
    ({"access_programs": {"cyber": "standard"}}, "access_programs"),
    ({"truncation": "middle"}, "truncation"),
    ({"service_tier": "gold"}, "service_tier"),
    ({"prompt_cache_retention": "1y"}, "prompt_cache_retention"),
    ({"prompt_cache_options": {"mode": "explicit"}}, "prompt_cache_options.mode"),
    ({"prompt_cache_options": {"ttl": "1h"}}, "prompt_cache_options.ttl"),
    ({"prompt_cache_options": {"comparison_response_id": "resp_1"}}, "prompt_cache_options.comparison_response_id"),
    ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
    ({"reasoning": {"summary": "long"}}, "reasoning.summary"),
    ({"reasoning": {"generate_summary": "long"}}, "reasoning.generate_summary"),
    ({"reasoning": {"context": "current_turn"}}, "reasoning.context"),
    ({"reasoning": {"mode": "pro"}}, "reasoning.mode"),
    ({"text": {"verbosity": "chatty"}}, "text.verbosity"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
    ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
    ({"include": ["message.output_text.logprobs"]}, "include"),
    ({"include": ["everything"]}, "include"),
    ({"top_logprobs": 5}, "top_logprobs"),
    ({"top_logprobs": -1}, "top_logprobs"),
    ({"temperature": 2.1}, "temperature"),
    ({"temperature": -0.1}, "temperature"),
    ({"top_p": 1.1}, "top_p"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"max_tool_calls": 0}, "max_tool_calls"),
    ({"metadata": {str(number): "x" for number in range(17)}}, "metadata"),
    ({"metadata": {"k" * 65: "x"}}, "metadata"),
    ({"metadata": {"k": "v" * 513}}, "metadata"),
    ({"context_management": [{"type": "pruning"}]}, "context_management[0].type"),
    (
        {"context_management": [{"type": "compaction", "compact_threshold": 0}]},
        "context_management[0].compact_threshold",
    ),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": {"type": "function", "name": "read"}}, "tool_choice.name"),
    ({"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}, "tool_choice"),
    (
        {
            "tools": [{"type": "mcp", "server_label": "x"}],
            "tool_choice": {"type": "mcp", "server_label": "x"},
        },
        "tool_choice",
    ),
    (
        {
            "tools": [
                {
                    "type": "custom",
                    "name": "p",
                    "format": {"type": "grammar", "syntax": "bnf", "definition": "x"},
                }
            ]
        },
        "tools[0].format.syntax",
    ),
    ({"model": "repair", "text": {"format": {"type": "json_object"}}}, "text.format.type"),
    ({"model": "repair", "tools": [PATCH], "tool_choice": {"type": "custom", "name": "patch"}}, "tool_choice"),
]


@pytest.mark.rule("settings.refused")
@pytest.mark.parametrize(("fields", "param"), REFUSED, ids=str)
async def test_what_can_not_be_honoured_is_refused_by_name(
    service: Running, fields: dict[str, Any], param: str
) -> None:
    async with connected(service) as socket, http_client(service) as client:
        by_socket = await socket.call(**{**GO, **fields})
        by_http = await client.post("/responses", json={**GO, **fields})
    assert (by_socket["type"], by_socket["status"], by_http.status_code) == ("error", 400, 400)
    assert by_http.json()["error"] == by_socket["error"]
    assert (by_socket["error"]["code"], by_socket["error"]["param"]) == ("invalid_request", param)


ECHOED: list[dict[str, Any]] = [
    {"truncation": "auto"},
    {"temperature": 0.2},
    {"top_p": 0.5},
    {"max_output_tokens": 400},
    {"max_tool_calls": 4},
    {"parallel_tool_calls": False},
    {"metadata": {"k": "v"}},
    {"reasoning": {"effort": "high", "summary": "auto"}},
    {"text": {"format": {"type": "text"}, "verbosity": "low"}},
    {"safety_identifier": "user-1"},
    {"prompt_cache_key": "key-1"},
    {"prompt_cache_options": {"mode": "implicit", "ttl": "30m"}},
    {"user": "someone"},
    {"instructions": "be brief"},
    {"tool_choice": "none"},
]


@pytest.mark.rule("settings.echoed")
@pytest.mark.parametrize("fields", ECHOED, ids=str)
async def test_what_is_honoured_is_shown_by_the_response(service: Running, fields: dict[str, Any]) -> None:
    async with connected(service) as socket:
        response = await socket.response(**{**GO, **fields})
    (name,) = fields
    assert response[name] == fields[name]


@pytest.mark.rule("settings.echoed")
async def test_where_there_is_one_way_only_the_response_says_which(service: Running) -> None:
    async with connected(service) as socket:
        response = await socket.response(**GO, service_tier="priority", prompt_cache_retention="24h")
    assert (response["service_tier"], response["prompt_cache_retention"]) == ("default", "in_memory")


@pytest.mark.rule("settings.known")
def test_every_setting_of_a_create_is_accounted_for() -> None:
    """A setting that the vendor adds must be looked at: refused, shown by the response, or listed with its test."""
    refused = {name.partition(".")[0].partition("[")[0] for _, name in REFUSED}
    shown = {name for fields in ECHOED for name in fields}
    elsewhere = {
        "input", "model", "tools", "store", "previous_response_id", "generate", "stream_id",  # test_chain, test_streams
        "stream", "stream_options", "client_metadata",  # ignored: test_frames
    }  # fmt: skip
    assert set(ResponseCreate.__struct_fields__) == refused | shown | elsewhere


@pytest.mark.rule("settings.format")
async def test_json_is_given_where_it_is_asked_for(service: Running) -> None:
    schema = {
        "type": "object",
        "properties": {"sum": {"type": "integer", "minimum": 7}, "unit": {"enum": ["m", "s"]}},
        "required": ["sum", "unit"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "name": "sum", "schema": schema, "strict": True}
    async with connected(service) as socket:
        response = await socket.response(**GO, text={"format": form})
        plain = await socket.response(**GO, text={"format": {"type": "json_object"}})
    assert msgspec.json.decode(response["output"][0]["content"][0]["text"]) == {"sum": 7, "unit": "m"}
    assert response["text"]["format"] == form
    assert isinstance(msgspec.json.decode(plain["output"][0]["content"][0]["text"]), dict)


CALLS = [{"function_call": {"name": "read", "arguments": {"n": number}}} for number in range(3)]


@pytest.mark.rule("tools.limits")
@pytest.mark.parametrize(
    ("fields", "calls"),
    [({}, 3), ({"max_tool_calls": 2}, 2), ({"parallel_tool_calls": False}, 1), ({"max_tool_calls": 9}, 3)],
)
async def test_no_more_calls_than_allowed(tmp_path: Path, fields: dict[str, Any], calls: int) -> None:
    with playing(tmp_path, {"steps": [{"output": [*CALLS, {"text": "done"}]}]}) as running:
        async with connected(running) as socket:
            response = await socket.response(**GO, tools=[READ], **fields)
    assert [item["type"] for item in response["output"]] == ["function_call"] * calls + ["message"]
    assert [item["arguments"] for item in response["output"][:calls]] == [
        f'{{"n":{number}}}' for number in range(calls)
    ]


@pytest.mark.rule("tools.choice")
async def test_a_choice_is_kept_or_the_response_fails(tmp_path: Path) -> None:
    other = {**READ, "name": "other"}
    named = {"type": "function", "name": "other"}
    with playing(tmp_path, {"steps": [{"output": CALLS[:1]}, {"output": [{"text": "words"}]}]}) as running:
        async with connected(running) as socket:
            for choice in ("none", named, {"type": "allowed_tools", "mode": "auto", "tools": [named]}):
                last = await socket.call(**GO, tools=[READ, other], tool_choice=choice)
                assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "tool_choice_broken")
            for choice in ("auto", "required", {"type": "function", "name": "read"}):
                response = await socket.response(**GO, tools=[READ, other], tool_choice=choice)
                assert response["output"][0]["name"] == "read"
            said = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "so"}]
            words = await socket.call(**{**GO, "input": said}, tools=[READ], tool_choice="required")
            assert words["response"]["error"]["code"] == "tool_choice_broken"


@pytest.mark.rule("tools.choice")
async def test_the_built_in_model_keeps_to_the_choice(service: Running) -> None:
    other = {**READ, "name": "other"}
    named = {"type": "function", "name": "other"}
    async with connected(service) as socket:
        for choice, name in (("auto", "read"), ("required", "read"), (named, "other")):
            response = await socket.response(**GO, tools=[READ, other], tool_choice=choice)
            assert response["output"][0]["name"] == name
        allowed = {"type": "allowed_tools", "mode": "required", "tools": [named]}
        assert (await socket.response(**GO, tools=[READ, other], tool_choice=allowed))["output"][0]["name"] == "other"
        answer = await socket.response(**GO, tools=[READ, other], tool_choice="none")
        assert answer["output"][0]["type"] == "message"


@pytest.mark.rule("settings.reasoning")
async def test_reasoning_is_sealed_for_those_who_ask_and_comes_back(tmp_path: Path) -> None:
    steps = [{"output": [{"reasoning": "let me think about it"}, {"text": "so"}]}, {"output": [{"text": "right"}]}]
    with playing(tmp_path, {"steps": steps}) as running:
        async with connected(running) as socket:
            plain = await socket.response(**GO)
            asked = await socket.response(**GO, include=["reasoning.encrypted_content"])
            thought, said = asked["output"]
            sealed_only = {**thought, "summary": []}
            sizes = [
                (await socket.response(**{**GO, "input": [{"role": "user", "content": "go"}, kept, said]}))["usage"]
                for kept in (thought, sealed_only, {**sealed_only, "encrypted_content": "of another service"})
            ]
    assert "encrypted_content" not in plain["output"][0]
    assert thought["encrypted_content"]
    assert thought["summary"] == [{"type": "summary_text", "text": "let me think about it"}]
    assert 0 < asked["usage"]["output_tokens_details"]["reasoning_tokens"] < asked["usage"]["output_tokens"]
    tokens = [usage["input_tokens"] for usage in sizes]
    assert tokens[0] == tokens[1] > tokens[2]


@pytest.mark.rule("settings.max_output_tokens")
async def test_an_answer_is_cut_at_its_limit(service: Running) -> None:
    async with connected(service) as socket, http_client(service) as client:
        await socket.create(**GO, max_output_tokens=5)
        last = (await socket.finish())[-1]
        body = {**GO, "max_output_tokens": 5, "stream": True}
        streamed = parse_sse((await client.post("/responses", json=body)).text)[-2]
    for kind, response in ((last["type"], last["response"]), (streamed[0], streamed[1]["response"])):
        assert kind == "response.incomplete"
        assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        assert 0 < response["usage"]["output_tokens"] <= 5
        assert response["output"][0]["status"] == "incomplete"
