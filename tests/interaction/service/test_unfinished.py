"""Output that did not end is output: tokens said before a cancel, a disconnect or a failure are counted everywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_core.responses_server.ledger.port import Account
from agent_core.responses_server.settings import ApiKey, KeyLimits
from tests.support.service.running import KEY, Running, Socket, connected, http_client, playing
from tests.support.system.waiting import eventually

WORDS = "one two three four five six seven eight nine ten eleven twelve "
LIMITED = (ApiKey("test", KEY, limits=KeyLimits(tokens_per_minute=100_000)),)
GO: dict[str, Any] = {"input": "go", "store": False}
CALL = {"name": "read", "arguments": {"path": WORDS}}
KINDS: dict[str, dict[str, Any]] = {
    "text": {"text": WORDS * 20},
    "reasoning": {"reasoning": WORDS * 20},
    "a call": {"function_call": CALL},
}
TOOLS = [{"type": "function", "name": "read", "parameters": {}}]
DELTAS = ("response.output_text.delta", "response.reasoning_summary_text.delta",
          "response.function_call_arguments.delta")  # fmt: skip


def rollout(*outputs: dict[str, Any], pace: float = 100.0) -> dict[str, Any]:
    return {"steps": [{"output": list(outputs), "tokens_per_s": pace}]}


async def said(socket: Socket, count: int = 8) -> str:
    """The id of a response that is running, once it has said so much."""
    events = await socket.read_until("response.created")
    for _ in range(count):
        events += await socket.read_until(*DELTAS)
    return str(events[0]["response"]["id"])


async def cancelled(socket: Socket, response_id: str) -> Any:
    await socket.send({"type": "response.cancel", "response_id": response_id})
    return (await socket.finish())[-1]["response"]


async def left(socket: Socket, response_id: str) -> Any:
    socket.connection.transport.abort()
    return None


ENDS_EARLY = [(cancelled, "cancelled"), (left, "abandoned")]


async def figures(running: Running) -> dict[str, float]:
    """Tokens of output as /metrics tells them, and what is left of the key's limit."""
    async with http_client(running) as client:
        text = (await client.get(f"{running.url}/metrics")).text
    counted = [line for line in text.splitlines() if line.startswith("loopline_service_tokens_total")]
    return {kind: sum(float(line.split()[-1]) for line in counted if f'kind="{kind}"' in line)
            for kind in ("input", "output", "reasoning")}  # fmt: skip


async def account(running: Running, response_id: str, status: str) -> Account:
    """The entry of the ledger, once it is closed in this way."""
    async with asyncio.timeout(20):
        while True:
            found = await running.service.pipeline.settlement.ledger.find(response_id)
            if found is not None and found.status == status:
                return found
            await asyncio.sleep(0.01)


@pytest.mark.rule("usage.unfinished")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("end", "state"), [(cancelled, "cancelled"), (left, "abandoned")], ids=["cancel", "disconnect"]
)
async def test_what_was_said_before_the_end_is_counted(
    tmp_path: Path, kind: str, end: Callable[[Socket, str], Awaitable[Any]], state: str
) -> None:
    script = rollout(KINDS[kind], pace=30 if kind == "a call" else 100)
    with playing(tmp_path, script, api_keys=LIMITED) as running:
        async with connected(running) as socket:
            await socket.create(**GO, tools=TOOLS)
            response_id = await said(socket)
            response = await end(socket, response_id)
        found = await account(running, response_id, state)
        given, made = found.input_tokens, found.output_tokens
        assert given
        assert made
        assert made >= 8
        told = await figures(running)
        assert (told["input"], told["output"]) == (given, made)
        assert (told["reasoning"] > 0) is (kind == "reasoning")
        bucket = running.service.limits._keys["test"].tokens
        assert bucket is not None
        assert bucket._level <= 100_000 - made - given + 5
        if response is not None:
            assert response["usage"]["output_tokens"] == made
            assert response["usage"]["total_tokens"] == given + made


@pytest.mark.rule("usage.unfinished")
@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_said_before_a_failure_is_counted(tmp_path: Path, kind: str) -> None:
    script = rollout(KINDS[kind], {"text": WORDS}, {"fail": {"code": "engine_failed", "message": "it broke"}}, pace=0)
    with playing(tmp_path, script) as running:
        async with connected(running) as socket:
            response = (await socket.call(**GO, tools=TOOLS))["response"]
        assert (response["status"], response["error"]["message"]) == ("failed", "it broke")
        made = response["usage"]["output_tokens"]
        assert made > 20
        assert (await account(running, response["id"], "failed")).output_tokens == made
        assert (await figures(running))["output"] == made


@pytest.mark.rule("usage.unfinished")
async def test_a_stream_over_http_that_is_left_counts(tmp_path: Path) -> None:
    with playing(tmp_path, rollout({"text": WORDS * 20})) as running:
        async with http_client(running) as client:
            body = {"model": "scripted", **GO, "stream": True}
            async with asyncio.timeout(20), client.stream("POST", "/responses", json=body) as answer:
                seen = 0
                async for line in answer.aiter_lines():
                    seen += line == "event: response.output_text.delta"
                    if seen == 8:
                        break
        settled = await eventually(lambda: running.sink.events[-1] if running.sink.events else None)
        response_id = str(getattr(settled, "response_id", ""))
        assert ((await account(running, response_id, "abandoned")).output_tokens or 0) >= 8


@pytest.mark.rule("usage.unfinished")
async def test_a_half_call_that_a_limit_cuts_counts(tmp_path: Path) -> None:
    with playing(tmp_path, rollout({"function_call": CALL}, pace=0)) as running:
        async with connected(running) as socket:
            response = (await socket.call(**GO, tools=TOOLS, max_output_tokens=6))["response"]
    assert response["status"] == "incomplete"
    assert response["output"] == []
    assert 0 < response["usage"]["output_tokens"] <= 6
