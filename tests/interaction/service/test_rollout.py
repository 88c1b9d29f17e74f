"""The rollout prototype: one long response that waits for outputs within its sampling loop. An experiment, off by
default.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agent_core.errors import ServiceError
from agent_core.responses_server.output.long_response import Rollout
from tests.support.service.running import Running, Socket, child_service, connected, running_service
from tests.support.system.waiting import eventually

ASK = {"x-loopline-rollout": "1"}
TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}
TASK = {"input": "look", "tools": [TOOL], "store": False}


@pytest.fixture(scope="module")
def rolling() -> Iterator[Running]:
    with running_service(enable_rollout=True) as running:
        yield running


def output_of(paused: Any, text: str = "found") -> dict[str, Any]:
    call = next(item for item in paused["response"]["output"] if item["type"] == "function_call")
    return {"type": "function_call_output", "call_id": call["call_id"], "output": text}


async def begin(socket: Socket, **fields: Any) -> list[Any]:
    """Events up to where the response waits."""
    await socket.create(**{**TASK, **fields})
    events = await socket.read_until("response.done")
    assert events[-1]["response"]["status"] == "in_progress"
    return events


@pytest.mark.rule("rollout.goes_on")
async def test_one_response_goes_on_behind_its_calls(rolling: Running) -> None:
    before = rolling.service.pipeline.validator.validated_items
    async with connected(rolling, headers=ASK) as socket:
        first = await begin(socket)
        await socket.send({"type": "response.append", "input": [output_of(first[-1])]})
        rest = await socket.finish()
        events = [*first, *rest]
        ended = rest[-1]["response"]
        assert rest[-1]["type"] == "response.completed"
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert sum(event["type"] == "response.created" for event in events) == 1
        assert ended["id"] == first[0]["response"]["id"]
        assert [item["type"] for item in ended["output"]] == ["function_call", "message"]
        assert rolling.service.pipeline.validator.validated_items - before == 2
        settled = await eventually(lambda: rolling.service_call(ended["id"]))
        assert {"validate", "screen", "engine", "settle"} <= set(settled.stages_ms)
        after = await socket.response(input="and now?", store=False, previous_response_id=ended["id"])
        details = after["usage"]["input_tokens_details"]
        assert details["cached_tokens"] >= ended["usage"]["total_tokens"] - ended["usage"]["output_tokens"]


@pytest.mark.rule("rollout.goes_on")
async def test_its_context_is_that_of_chained_calls(rolling: Running) -> None:
    """What a later call finds is the same, token by token, as if the rollout had been two calls."""
    async with connected(rolling, headers=ASK) as socket:
        first = await begin(socket)
        await socket.send({"type": "response.append", "input": [output_of(first[-1])]})
        rolled = (await socket.finish())[-1]["response"]
        later = await socket.response(input="so?", store=False, previous_response_id=rolled["id"])
    async with connected(rolling) as socket:
        one = await socket.response(**TASK)
        two = await socket.response(
            input=[output_of({"response": one})], store=False, tools=[TOOL], previous_response_id=one["id"]
        )
        again = await socket.response(input="so?", store=False, previous_response_id=two["id"])
    assert later["usage"]["input_tokens"] == again["usage"]["input_tokens"]
    assert rolled["usage"]["input_tokens"] == two["usage"]["input_tokens"]


@pytest.mark.rule("rollout.off")
async def test_without_the_switch_or_the_header_calls_end_the_response(rolling: Running) -> None:
    with running_service() as plain:
        async with connected(plain, headers=ASK) as socket:
            assert (await socket.response(**TASK))["output"][0]["type"] == "function_call"
            await socket.send({"type": "response.append", "input": []})
            assert (await socket.call(input="still here", store=False))["type"] == "response.completed"
    async with connected(rolling) as socket:
        assert (await socket.response(**TASK))["output"][0]["type"] == "function_call"


@pytest.mark.rule("rollout.ends")
async def test_an_append_that_nothing_waits_for_is_refused(rolling: Running) -> None:
    async with connected(rolling, headers=ASK) as socket:
        await socket.send({"type": "response.append", "input": []})
        error = await socket.read()
        assert (error["type"], error["error"]["code"]) == ("error", "invalid_request")
        await socket.send({"type": "response.append", "stream_id": "other", "input": []})
        assert (await socket.read())["stream_id"] == "other"


@pytest.mark.rule("rollout.ends")
async def test_a_wrong_append_fails_the_response(rolling: Running) -> None:
    async with connected(rolling, headers=ASK) as socket:
        await begin(socket)
        await socket.send(
            {"type": "response.append", "input": [{"type": "function_call_output", "call_id": "no", "output": ""}]}
        )
        last = (await socket.finish())[-1]
        assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "invalid_request")
        assert (await socket.call(input="on", store=False))["type"] == "response.completed"


@pytest.mark.rule("rollout.off")
async def test_a_rollout_is_not_stored(rolling: Running) -> None:
    async with connected(rolling, headers=ASK) as socket:
        error = await socket.call(**{**TASK, "store": True})
        assert (error["type"], error["error"]["param"]) == ("error", "store")


@pytest.mark.rule("rollout.ends")
async def test_cancelled_while_it_waits(rolling: Running) -> None:
    async with connected(rolling, headers=ASK) as socket:
        await begin(socket)
        await socket.send({"type": "response.cancel"})
        last = (await socket.finish())[-1]
        assert (last["type"], last["response"]["status"]) == ("response.incomplete", "cancelled")


@pytest.mark.rule("rollout.ends")
async def test_a_shutdown_does_not_wait_for_outputs(tmp_path: Path) -> None:
    async with child_service(tmp_path, enable_rollout=True) as child, connected(child.running, headers=ASK) as socket:
        await begin(socket)
        child.process.terminate()
        last = (await socket.finish())[-1]
        assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "server_is_overloaded")
        assert (await socket.closed())[0] == 1001
        assert await child.ended() == 0


@pytest.mark.rule("rollout.ends")
async def test_the_wait_is_bounded() -> None:
    rollout = Rollout(wait_s=0.01)
    rollout.pause()
    with pytest.raises(ServiceError) as caught:
        await rollout.given()
    assert caught.value.code == "rollout_timeout"
    assert not rollout.offer(Raw(b"[]"))
