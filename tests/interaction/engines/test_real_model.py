"""A real model, in process and behind llama.cpp's own server.

SmolLM2 135M is weak: calls are demanded of it, or spelled out for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.support.engines.llama_server import HERMES_TEMPLATE, llama_server
from tests.support.engines.real_model import smollm2
from tests.support.service.running import Running, Socket, connected, http_client, running_service

READ = {
    "type": "function",
    "name": "read",
    "description": "Read a file",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
REPEAT = 'Repeat: <tool_call>\n{"name": "read", "arguments": {"path": "notes.txt"}}\n</tool_call>'


@pytest.fixture(scope="module")
def local() -> Iterator[Running]:
    options = {"smol": {"context": 1024, "slots": 2, "temperature": 0}}
    with running_service(engines={"smol": f"llama:{smollm2()}"}, engine_options=options) as running:
        yield running


@pytest.fixture
async def server() -> AsyncIterator[str]:
    async with llama_server(smollm2(), HERMES_TEMPLATE, "server-key") as url:
        yield url


async def ask(socket: Socket, asked: Any, previous: str | None = None, **fields: Any) -> Any:
    given = {"model": "smol", "input": asked, "max_output_tokens": 16, "temperature": 0, "store": False, **fields}
    await socket.create(**given, **({"previous_response_id": previous} if previous else {}))
    last = (await socket.finish(timeout_s=90))[-1]
    assert last["type"] in ("response.completed", "response.incomplete"), last
    return last["response"]


def said(response: Any) -> str:
    return "".join(part["text"] for item in response["output"] for part in item.get("content", []))


def cached(response: Any) -> int:
    return int(response["usage"]["input_tokens_details"]["cached_tokens"])


async def talk(socket: Socket, *questions: str) -> list[str]:
    answers: list[str] = []
    previous = None
    for question in questions:
        response = await ask(socket, question, previous)
        answers.append(said(response))
        previous = response["id"]
    return answers


LEFT = ("What is a linked list?", "And a tree?")
RIGHT = ("Name three colours.", "Which is the warmest?")


async def test_lanes_answer_as_if_alone_also_after_eviction(local: Running) -> None:
    async with connected(local) as socket:
        left = await talk(socket, *LEFT)
    async with connected(local) as socket:
        right = await talk(socket, *RIGHT)
    assert left != right
    async with connected(local) as one, connected(local) as two:
        assert list(await asyncio.gather(talk(one, *LEFT), talk(two, *RIGHT))) == [left, right]
    async with connected(local) as one, connected(local) as two, connected(local) as three:
        first = await ask(one, LEFT[0])
        await ask(two, "Hi", max_output_tokens=1)
        await ask(three, "Hi", max_output_tokens=1)
        second = await ask(one, LEFT[1], first["id"])
        assert cached(second) == 0
        assert [said(first), said(second)] == left


async def test_a_lane_reuses_what_a_stateless_call_evaluates_again(local: Running) -> None:
    async with connected(local) as socket, http_client(local) as client:
        first = await ask(socket, "Say hello.")
        second = await ask(socket, "Again.", first["id"])
        items = [{"role": "user", "content": "Say hello."}, *first["output"], {"role": "user", "content": "Again."}]
        body = {"model": "smol", "input": items, "max_output_tokens": 16, "temperature": 0, "store": False}
        stateless = (await client.post("/responses", json=body, timeout=90)).json()
    assert said(second) == said(stateless)
    assert cached(stateless) == 0
    assert cached(second) >= first["usage"]["input_tokens"]


async def test_a_demanded_call_its_result_and_an_answer(local: Running) -> None:
    async with connected(local) as socket:
        given: dict[str, Any] = {"tools": [READ], "tool_choice": "required", "max_tool_calls": 1}
        made = await ask(socket, "Read the file notes.txt", **given, max_output_tokens=80)
        (call,) = made["output"]
        assert isinstance(json.loads(call["arguments"])["path"], str)
        output = [{"type": "function_call_output", "call_id": call["call_id"], "output": "The word is marmalade."}]
        after = await ask(socket, output, made["id"], tools=[READ], tool_choice="none")
    assert said(after)
    assert cached(after) >= made["usage"]["input_tokens"]


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_behind_llama_cpps_own_server(server: str, api: str) -> None:
    """Streaming, a call that the model makes by itself, its result, an answer, and the server's own figures."""
    options = {"smol": {"key": "server-key", "api": api}}
    with running_service(engines={"smol": f"upstream:{server}#smol"}, engine_options=options) as running:
        async with connected(running) as socket:
            await socket.create(model="smol", input=REPEAT, tools=[READ], temperature=0, max_output_tokens=60)
            events = await socket.finish(timeout_s=90)
            made = events[-1]["response"]
            (call,) = [item for item in made["output"] if item["type"] == "function_call"]
            assert json.loads(call["arguments"]) == {"path": "notes.txt"}
            assert any(event["type"] == "response.function_call_arguments.delta" for event in events)
            output = [{"type": "function_call_output", "call_id": call["call_id"], "output": "The word is marmalade."}]
            after = await ask(socket, output, made["id"], tools=[READ])
    assert said(after)
    assert cached(made) == 0
    assert cached(after) > made["usage"]["input_tokens"] // 2, "the server's own prefix cache was hit"


async def test_which_api_llama_cpps_server_has_is_found_and_its_refusal_told(server: str) -> None:
    engines = {"smol": f"upstream:{server}#smol", "bad": f"upstream:{server}#smol"}
    options = {"smol": {"key": "server-key"}, "bad": {"key": "wrong"}}
    with running_service(engines=engines, engine_options=options) as running:
        async with connected(running) as socket:
            assert said(await ask(socket, "Say hello.", max_output_tokens=4))
            last = await socket.call(model="bad", input="hi", store=False)
    assert last["response"]["error"]["code"] == "upstream_auth_refused"
