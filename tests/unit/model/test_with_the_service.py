"""The client against the product's own service: what one side believes of the wire, the other does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.errors import AuthError
from agent_core.model.port import TextDelta
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.session import Talk, talking
from tests.support.service.running import KEY, Running, connected, playing, running_service

TOOLS = json.dumps(
    [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}, "strict": False}]
).encode()


@asynccontextmanager
async def talk_with(service: Running, **settings: Any) -> AsyncIterator[Talk]:
    """A talk with the `scripted` engine, which calls a tool and then answers."""
    async with talking(service.base_url, **({"api_key": KEY, "own_service": True} | settings)) as talk:
        talk.model, talk.tools = "scripted", TOOLS
        yield talk


async def turn(talk: Talk) -> None:
    """A call that asks for a tool, and the one that answers."""
    result = await talk.call(make.user("look"))
    (call,) = [json.loads(item) for item in result.items if b"function_call" in item]
    await talk.call(make.tool_output(call["call_id"]))


async def test_a_warm_up_and_deltas_are_what_the_service_continues_from() -> None:
    with running_service() as service:
        async with talk_with(service) as talk:
            assert await talk.session.prewarm(talk.request())
            await turn(talk)
            await turn(talk)
    assert talk.told(ev.CallSent, "reuse") == ["first", *["reused"] * 4]
    assert talk.told(ev.CallSent, "input_items") == [0, 1, 1, 1, 1]
    assert len(talk.events(ev.ConnectionOpened)) == 1
    cached = talk.told(ev.CallCompleted, "cached_tokens")
    assert cached == sorted(cached)
    assert cached[-1] > 0
    for end in talk.events(ev.CallCompleted):
        assert end.service_stages_ms
        assert end.inference_ms is not None
        assert end.inference_ms <= end.duration_ms


async def test_http_gives_the_same_conversation() -> None:
    kinds = []
    with running_service() as service:
        for transport in ("websocket", "http"):
            async with talk_with(service, transport=transport) as talk:
                await turn(talk)
                kinds.append([json.loads(item)["type"] for item in talk.history.raw(0)])
    assert kinds[0] == kinds[1]
    assert talk.told(ev.CallSent, "reuse") == ["first", "full_resend"]


@pytest.mark.parametrize("cancels", [1, 3])
async def test_a_cancel_ends_the_response_and_keeps_the_socket(cancels: int) -> None:
    with running_service() as service:
        async with talk_with(service, cancel_timeout_s=20) as talk:
            talk.model = "scripted:slow"
            talk.options = {"tool_choice": "none"}
            for n in range(cancels):
                talk.say(make.user(f"tell me {n}"))
                async with contextlib.aclosing(talk.session.call(talk.request())) as stream:
                    async for item in stream:
                        if isinstance(item, TextDelta):
                            break
            talk.model = "scripted"
            await talk.call(make.user("never mind"))
    assert talk.told(ev.CallCompleted, "status") == ["cancelled"] * cancels + ["completed"]
    assert len(talk.events(ev.ConnectionOpened)) == 1


async def test_a_service_without_websocket_is_used_over_http() -> None:
    with running_service(websocket=False) as service:
        async with talk_with(service) as talk:
            await turn(talk)
    assert talk.told(ev.CallSent, "transport") == ["http", "http"]
    assert talk.told(ev.ConnectionFallback, "cause") == ["handshake_refused"]


async def test_a_wrong_key_is_refused_on_both_ways() -> None:
    with running_service() as service:
        for transport in ("auto", "http"):
            async with talk_with(service, api_key="wrong", transport=transport) as talk:
                with pytest.raises(AuthError):
                    await talk.call(make.user("hi"))


async def test_a_connection_that_the_service_ends_for_its_age_costs_no_call() -> None:
    with running_service(connection_minutes=0.2 / 60) as service:
        async with talk_with(service) as talk:
            await turn(talk)
            await talk.until_lost_or_waiting()
            await turn(talk)
    assert talk.told(ev.CallCompleted, "status") == ["completed"] * 4
    assert "reconnected" in talk.told(ev.CallSent, "reuse")


@pytest.mark.parametrize("transport", ["websocket", "http"])
async def test_reasoning_that_another_service_sealed_costs_one_resend(tmp_path: Path, transport: str) -> None:
    """A session goes on at another service: what can't be opened there is left out from then on."""
    thinking = {"steps": [{"output": [{"reasoning": "hm"}, {"text": "so"}]}]}
    with playing(tmp_path, thinking) as before, running_service() as service:
        async with connected(before) as socket:
            asked = {"input": "go", "store": False, "include": ["reasoning.encrypted_content"]}
            said = (await socket.response(**asked))["output"]
        assert said[0]["encrypted_content"]
        async with talk_with(service, transport=transport) as talk:
            talk.tools = b"[]"
            for item in (make.user("go"), *said):
                talk.say(item)
            await talk.call(make.user("go on"))
            await talk.call(make.user("and on"))
    assert [end.status for end in talk.events(ev.CallCompleted)] == ["completed", "completed"]
    assert len(talk.events(ev.CallSent)) == 3
