"""Bugs that other services and clients were reported for, and what this one does instead."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.running import ENDS, Running, connected, http_client, parse_sse, playing

READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
SPAWN = {**READ, "name": "spawn"}
NAMESPACE = {"type": "namespace", "name": "agents", "description": "Agents.", "tools": [SPAWN]}
WEB_SEARCH = {"type": "web_search"}


@pytest.mark.rule("ws.keepalive")
async def test_codex_43022_39771_long_thinking_is_not_silent(tmp_path: Path) -> None:
    """openai/codex#43022, #39771: a client counts application frames, not pongs; thinking looked like a dead socket."""
    with playing(tmp_path, {"steps": [{"delay_ms": 3_600_000, "output": []}]}, keepalive_s=0.1) as running:
        async with connected(running) as socket:
            await socket.create(input="think")
            kinds = [(await socket.read())["type"] for _ in range(5)]
    assert kinds == ["response.created", *["response.in_progress"] * 4]


@pytest.mark.rule("chain.store")
@pytest.mark.parametrize("stored", [True, False])
async def test_codex_26173_store_true_and_false_are_both_taken(service: Running, stored: bool) -> None:
    """openai/codex#26173: a backend refused store=true. Here both chain, and the response says which it is."""
    async with connected(service) as socket:
        first = await socket.response(input="one", store=stored)
        second = await socket.response(input="two", store=stored, previous_response_id=first["id"])
    assert (first["store"], second["store"]) == (stored, stored)


@pytest.mark.rule("lanes.release")
async def test_localai_11608_the_lane_is_free_at_the_terminal_event(service: Running) -> None:
    """mudler/LocalAI#11608: the guard was freed after the terminal frame, so a quick next create was refused."""
    async with connected(service) as socket:
        previous: dict[str, Any] = {}
        async with asyncio.timeout(30):
            for _ in range(60):
                response = await socket.response(input="go", store=False, **previous)
                previous = {"previous_response_id": response["id"]}


@pytest.mark.rule("tools.kinds")
async def test_localai_11608_tools_keep_their_kind(service: Running) -> None:
    """mudler/LocalAI#11608: namespace and web_search were turned into functions."""
    async with connected(service) as socket:
        echoed = await socket.response(input="go", tools=[WEB_SEARCH, NAMESPACE, READ], store=False)
        called = await socket.response(input="go", tools=[WEB_SEARCH, NAMESPACE], store=False)
        none = await socket.response(input="go", tools=[WEB_SEARCH], store=False)
    assert [(tool["type"], tool["name"]) for tool in echoed["tools"]] == [("function", "read")]
    call = called["output"][0]
    assert (call["type"], call["name"], call["namespace"]) == ("function_call", "spawn", "agents")
    assert none["output"][0]["type"] == "message"


@pytest.mark.rule("chain.latest")
async def test_localai_11608_the_store_of_a_connection_is_bounded(service: Running) -> None:
    """mudler/LocalAI#11608: every response of a connection was kept."""
    async with connected(service) as socket:
        ids = [(await socket.response(input="go", store=False))["id"] for _ in range(20)]
        for old in ids[:-1]:
            gone = await socket.call(input="x", store=False, stream_id="probe", previous_response_id=old)
            assert gone["error"]["code"] == "previous_response_not_found"


@pytest.mark.rule("chain.warm_up")
async def test_cliproxyapi_6006_1901_generate_false_in_any_position(service: Running) -> None:
    """router-for-me/CLIProxyAPI#6006, #1901: a warm-up in mid-connection ran a generation, or was an unknown field."""
    async with connected(service) as socket, http_client(service) as client:
        first = await socket.response(input="one", tools=[READ], store=False)
        call = first["output"][0]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "x"}
        warm = await socket.response(
            input=[output], tools=[READ], store=False, generate=False, previous_response_id=first["id"]
        )
        assert (warm["output"], warm["usage"]["output_tokens"]) == ([], 0)
        twice = await socket.response(
            input=[], tools=[READ], store=False, generate=False, previous_response_id=warm["id"]
        )
        answer = await socket.response(input=[], tools=[READ], store=False, previous_response_id=twice["id"])
        assert answer["output"][0]["type"] == "message"
        body = {"model": "scripted", "input": "x", "generate": False}
        assert (await client.post("/responses", json=body)).json()["output"] == []


@pytest.mark.rule("chain.verbatim")
async def test_cliproxyapi_3569_3664_codex_router_554_items_are_never_rewritten(service: Running) -> None:
    """router-for-me/CLIProxyAPI#3569, #3664, duolahypercho/codex-router#554: calls were repeated or merged by id."""
    same_id: dict[str, Any] = {"type": "function_call", "id": "fc_same", "name": "read", "arguments": "{}"}
    history = [
        {"role": "user", "content": "go"},
        {**same_id, "call_id": "call_a"},
        {**same_id, "call_id": "call_b"},
        {"type": "function_call_output", "call_id": "call_a", "output": "A"},
        {"type": "function_call_output", "call_id": "call_b", "output": "B"},
    ]
    async with connected(service) as socket:
        whole = await socket.response(input=history, store=False)
        head = await socket.response(input=history[:3], store=False, generate=False)
        tail = await socket.response(input=history[3:], store=False, previous_response_id=head["id"])
        assert whole["usage"]["input_tokens"] == tail["usage"]["input_tokens"]
        await socket.create(input="call it", tools=[READ], store=False)
        events = await socket.finish()
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        assert done == events[-1]["response"]["output"]
        output = {"type": "function_call_output", "call_id": done[0]["call_id"], "output": "x"}
        # A client that sends the call along with its output gets the same context as the call it already has.
        await socket.response(
            input=[output], tools=[READ], store=False, previous_response_id=events[-1]["response"]["id"]
        )


@pytest.mark.rule("events.ladder")
@pytest.mark.rule("events.one_terminal")
@pytest.mark.parametrize(
    "fields",
    [
        {"input": "text"},
        {"input": "go", "tools": [READ]},
        {"input": "go", "generate": False},
        {"input": "x", "max_output_tokens": 3},
    ],
    ids=["text", "tool call", "warm-up", "cut"],
)
async def test_ollama_17118_14600_ogx_5309_llm_rosetta_56_one_terminal_and_the_full_ladder(
    service: Running, fields: dict[str, Any]
) -> None:
    """ollama/ollama#17118, #14600, ogx-ai/ogx#5309, Oaklight/llm-rosetta#56: streams without an end, texts without
    `done`, `completed` without an id."""
    async with http_client(service) as client:
        answer = await client.post("/responses", json={"model": "scripted", "stream": True, **fields})
    events = [data for _, data in parse_sse(answer.text)[:-1]]
    kinds = [event["type"] for event in events]
    assert [kind for kind in kinds if kind in ENDS] == [kinds[-1]]
    assert events[-1]["response"]["id"] == events[0]["response"]["id"] != ""
    assert kinds.count("response.output_item.added") == kinds.count("response.output_item.done")
    assert kinds.count("response.content_part.added") == kinds.count("response.content_part.done")
    assert kinds.count("response.content_part.added") == kinds.count("response.output_text.done")
    texts = [event["text"] for event in events if event["type"] == "response.output_text.done"]
    deltas = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    assert "".join(texts) == deltas
