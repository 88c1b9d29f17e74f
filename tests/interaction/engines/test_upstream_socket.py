"""The upstream engine over a WebSocket; the server is another service of ours, so both ends are real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agent_core.responses_server.engines.upstream.engine import UpstreamEngine
from agent_core.responses_server.engines.upstream.lane import MEMORY, LaneMemory
from agent_core.telemetry.events import ServiceCall
from tests.support.engines.upstream_requests import engine_request
from tests.support.service.running import KEY, Running, connected, running_service
from tests.support.system.waiting import eventually

TOOL = {
    "type": "function",
    "name": "read",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}


@contextmanager
def chained(model: str = "scripted") -> Iterator[tuple[Running, Running]]:
    """A service in front of another one; the front's model is `far`."""
    with running_service() as back:
        spec = f"upstream:{back.base_url.replace('http', 'ws', 1)}#{model}"
        with running_service(engines={"far": spec}, engine_options={"far": {"key": KEY}}) as front:
            yield front, back


def reused(back: Running) -> list[int]:
    """Tokens that the server behind had from an earlier call, by call."""
    return [event.reused_tokens for event in back.sink.events if isinstance(event, ServiceCall)]


async def test_a_conversation_with_a_call_is_one_chain() -> None:
    with chained() as (front, back):
        async with connected(front) as socket:
            given: dict[str, Any] = {"model": "far", "tools": [TOOL], "store": False, "instructions": "Be kind."}
            made = await socket.response(input="read it", **given)
            (call,) = made["output"]
            output = [{"type": "function_call_output", "call_id": call["call_id"], "output": "42"}]
            await socket.response(input=output, previous_response_id=made["id"], **given)
            assert call["name"] == "read"
        calls = await eventually(lambda: reused(back) if len(reused(back)) == 2 else None)
    assert calls[0] == 0
    assert calls[1] > 0, "the second call went on from the first on the same socket"


async def test_changed_settings_start_a_new_chain_on_the_same_socket() -> None:
    with chained() as (front, back):
        async with connected(front) as socket:
            first = await socket.response(model="far", input="a", store=False, instructions="x")
            again = {"input": "b", "store": False, "previous_response_id": first["id"]}
            assert (await socket.response(model="far", instructions="y", **again))["status"] == "completed"
        calls = await eventually(lambda: reused(back) if len(reused(back)) == 2 else None)
    assert calls == [0, 0]


async def test_a_socket_that_died_costs_one_full_input() -> None:
    with running_service() as back:
        engine = UpstreamEngine("far", f"{back.base_url.replace('http', 'ws', 1)}#scripted", {"key": KEY})
        request = engine_request(tools=(), offered=())
        try:
            assert [delta async for delta in engine.stream(request)]
            lane = request.memory[MEMORY]
            assert isinstance(lane, LaneMemory)
            assert lane.socket is not None
            lane.socket.socket.abort()
            assert [delta async for delta in engine.stream(request)]
        finally:
            await engine.close()


async def test_a_server_without_websocket_is_told() -> None:
    with running_service(websocket=False) as back:
        spec = f"upstream:{back.base_url.replace('http', 'ws', 1)}#scripted"
        with running_service(engines={"far": spec}, engine_options={"far": {"key": KEY}}) as front:
            async with connected(front) as socket:
                last = await socket.call(model="far", input="hi", store=False)
    assert last["response"]["error"]["code"] == "upstream_refused"
    assert "no WebSocket (HTTP 426)" in last["response"]["error"]["message"]


async def test_a_refused_key_is_told() -> None:
    with running_service() as back:
        spec = f"upstream:{back.base_url.replace('http', 'ws', 1)}#scripted"
        with running_service(engines={"far": spec}, engine_options={"far": {"key": "wrong"}}) as front:
            async with connected(front) as socket:
                last = await socket.call(model="far", input="hi", store=False)
    assert last["response"]["error"]["code"] == "upstream_auth_refused"


async def test_a_response_that_is_left_costs_the_socket_and_not_the_conversation() -> None:
    with chained("scripted:slow") as (front, _):
        async with connected(front) as socket:
            await socket.create(model="far", input="hi", store=False)
            await socket.read_until("response.output_text.delta")
            await socket.send({"type": "response.cancel"})
            assert (await socket.finish())[-1]["response"]["status"] == "cancelled"
            await socket.create(model="far", input="again", store=False, max_output_tokens=5)
            assert (await socket.finish())[-1]["type"] in ("response.completed", "response.incomplete")
