"""Steering over real sockets: accepted, committed by a successor, pending on tool outputs, or returned with a code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.service.running import ENDS, Running, Socket, connected, http_client, playing

READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
THINKING = {
    "steps": [
        {"output": [{"text": "thinking "}, {"pause_ms": 10_000}, {"text": "on"}]},
        {"expect": {"contains": "faster"}, "output": [{"text": "done"}]},
    ]
}
CALLING = {
    "steps": [
        {"output": [{"function_call": {"name": "read", "arguments": {}, "call_id": "c1"}}, {"pause_ms": 250}]},
        {"output": [{"text": "done"}]},
    ]
}


async def slow(socket: Socket, **fields: Any) -> str:
    """A response that takes three seconds, once its first words are there; its id."""
    await socket.create(model="scripted:slow", input="go", **fields)
    return str((await socket.read_until("response.output_text.delta"))[0]["response"]["id"])


async def steer(socket: Socket, response_id: str, given: Any = "faster") -> None:
    await socket.send({"type": "response.steer", "previous_response_id": response_id, "input": given})


async def contents(running: Running, response_id: str) -> list[Any]:
    """What a stored response was made from: texts of messages, types of other items."""
    async with http_client(running) as client:
        listed = (await client.get(f"/responses/{response_id}/input_items?order=asc")).json()["data"]
    return [item["content"][0]["text"] if item["type"] == "message" else item["type"] for item in listed]


@pytest.mark.rule("steer.accepted")
@pytest.mark.rule("steer.successor")
@pytest.mark.parametrize("lane", [None, "side"])
async def test_a_steered_response_ends_and_a_successor_takes_the_input_in(tmp_path: Path, lane: str | None) -> None:
    named = {} if lane is None else {"stream_id": lane}
    settings = {"metadata": {"a": "b"}, "instructions": "be brief", "max_output_tokens": 500}
    with playing(tmp_path, THINKING) as running:
        async with connected(running) as socket:
            await socket.create(input="go", **named, **settings)
            events = await socket.read_until("response.output_text.delta")
            steered = events[0]["response"]["id"]
            await steer(socket, steered)
            events += await socket.finish()
            successor = await socket.finish()
        response = successor[-1]["response"]
        said = await contents(running, response["id"])
    (accepted,) = (event for event in events if event["type"] == "response.steer.accepted")
    ended = events[-1]
    assert accepted["steer"]["previous_response_id"] == steered
    assert accepted["steer"]["id"]
    assert (ended["type"], ended["response"]["id"]) == ("response.incomplete", steered)
    assert ended["response"]["incomplete_details"] == {"reason": "steered"}
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert successor[0]["type"] == "response.created"
    assert (successor[-1]["type"], response["previous_response_id"]) == ("response.completed", steered)
    assert {name: response[name] for name in settings} == settings
    assert all(event.get("stream_id") == lane for event in (*events, *successor))
    assert said == ["go", "thinking ", "faster"]


@pytest.mark.rule("steer.accepted")
async def test_a_message_that_is_cut_is_kept_as_incomplete(service: Running) -> None:
    async with connected(service) as socket:
        await steer(socket, await slow(socket, store=False))
        ended = (await socket.finish())[-1]
        assert ended["response"]["output"][0]["status"] == "incomplete"
        assert 0 < ended["response"]["usage"]["output_tokens"] < 40
        await socket.send({"type": "response.cancel"})
        assert (await socket.finish())[-1]["response"]["status"] == "cancelled"


@pytest.mark.rule("steer.successor")
async def test_several_steers_join_one_successor_in_their_order(tmp_path: Path) -> None:
    """The call that has begun is not cut, so all three come before the end."""
    steps = [{"output": [{"text": "one "}, {"pause_ms": 5}]}, {"output": [{"text": "two"}]}]
    with playing(tmp_path, {"steps": steps}) as running:
        async with connected(running) as socket:
            await socket.create(input="go")
            first = (await socket.read_until("response.created"))[-1]["response"]["id"]
            texts = ["a", "b", "c"]
            for text in texts:
                await steer(socket, first, [{"type": "message", "role": "user", "content": text}])
            events = await socket.read_until("response.completed")
            if events[-1]["response"]["id"] == first:
                events += await socket.read_until("response.completed")
            accepted = [event["type"] for event in events].count("response.steer.accepted")
            assert (await contents(running, events[-1]["response"]["id"]))[-accepted:] == texts[:accepted]
            assert accepted >= 1


@pytest.mark.rule("steer.pending")
async def test_input_waits_for_tool_outputs_and_is_put_before_them(tmp_path: Path) -> None:
    with playing(tmp_path, CALLING) as running:
        async with connected(running) as socket:
            await socket.create(input="go", tools=[READ], stream_id="side")
            first = (await socket.read_until("response.output_item.done"))[0]["response"]["id"]
            await steer(socket, first)
            events = await socket.read_until("response.steer.pending")
            assert [event["type"] for event in events if event["type"] in ENDS] == ["response.completed"]
            pending, completed = events[-1], events[-2]
            assert completed["type"] == "response.completed"
            assert pending["reason"] == "waiting_for_required_input"
            (stub,) = pending["required_input"]
            assert stub == {"type": "function_call_output", "call_id": "c1", "name": "read"}
            assert (pending["steer"]["previous_response_id"], pending["stream_id"]) == (first, "side")
            output = {**stub, "output": "ok"}
            del output["name"]
            await socket.create(input=[output], tools=[READ], previous_response_id=first, stream_id="side")
            last = (await socket.finish())[-1]
        assert last["type"] == "response.completed"
        assert (await contents(running, last["response"]["id"]))[-2:] == ["faster", "function_call_output"]


@pytest.mark.rule("steer.returned")
async def test_input_comes_back_when_the_lane_goes_on_without_it(tmp_path: Path) -> None:
    with playing(tmp_path, {"steps": CALLING["steps"][:1]}) as running:
        async with connected(running) as socket:
            await socket.create(input="go", tools=[READ])
            first = (await socket.read_until("response.output_item.done"))[0]["response"]["id"]
            await steer(socket, first)
            pending = (await socket.read_until("response.steer.pending"))[-1]
            await socket.create(input="something else", generate=False)
            failed = (await socket.read_until("response.steer.failed"))[-1]
    assert (failed["error"]["code"], failed["steer"]["id"]) == ("response_not_active", pending["steer"]["id"])
    assert failed["steer"]["input"] == "faster"


@pytest.mark.rule("steer.returned")
async def test_input_comes_back_when_the_response_is_cancelled(tmp_path: Path) -> None:
    with playing(tmp_path, CALLING) as running:
        async with connected(running) as socket:
            await socket.create(input="go", tools=[READ])
            first = (await socket.read_until("response.output_item.done"))[0]["response"]["id"]
            await steer(socket, first)
            accepted = (await socket.read_until("response.steer.accepted"))[-1]
            await socket.send({"type": "response.cancel"})
            assert (await socket.finish())[-1]["response"]["status"] == "cancelled"
            failed = await socket.read()
            assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "response_not_active")
            assert failed["steer"]["id"] == accepted["steer"]["id"]
            assert (await socket.response(input="go", generate=False))["output"] == []


@pytest.mark.rule("steer.refused")
@pytest.mark.parametrize(
    "given",
    [
        [],
        None,
        "",
        [{"role": "system", "content": "x"}],
        [{"role": "assistant", "content": "x"}],
        [{"type": "function_call_output", "call_id": "c1", "output": "x"}],
        [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}],
        [{"role": "user"}],
    ],
    ids=str,
)
async def test_input_that_is_none(service: Running, given: Any) -> None:
    async with connected(service) as socket:
        response_id = await slow(socket, store=False)
        await steer(socket, response_id, given)
        failed = (await socket.read_until("response.steer.failed", *ENDS))[-1]
        assert (failed["error"]["code"], failed["error"]["type"]) == ("invalid_input", "invalid_request_error")
        assert failed["steer"] == {"input": given if given else [], "previous_response_id": response_id}
        await socket.send({"type": "response.cancel"})
        assert (await socket.finish())[-1]["type"] == "response.incomplete"


@pytest.mark.rule("steer.refused")
async def test_responses_that_are_not_there_or_over(service: Running) -> None:
    async with connected(service) as socket:
        await steer(socket, "resp_none")
        failed = await socket.read()
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "response_not_found")
        done = await socket.response(input="go", store=False)
        await steer(socket, done["id"])
        assert (await socket.read())["error"]["code"] == "response_already_completed"


@pytest.mark.rule("steer.refused")
async def test_a_model_that_can_not_be_steered(service: Running) -> None:
    """`repair` may be done before the steer arrives; the answer is the same."""
    async with connected(service) as socket:
        await socket.create(model="repair", input="hello", store=False)
        response_id = (await socket.read_until("response.created"))[-1]["response"]["id"]
        await steer(socket, response_id)
        refused = (await socket.read_until("response.steer.failed"))[-1]
        assert refused["error"]["code"] == "steering_not_supported"
        assert refused["steer"] == {"input": "faster", "previous_response_id": response_id}


@pytest.mark.rule("steer.refused")
async def test_automatic_compaction_can_not_be_steered(service: Running) -> None:
    async with connected(service) as socket:
        response_id = await slow(socket, store=False, context_management=[{"type": "compaction"}])
        await steer(socket, response_id)
        refused = (await socket.read_until("response.steer.failed"))[-1]
        assert refused["error"]["code"] == "steering_not_supported"
        await socket.send({"type": "response.cancel"})
        assert (await socket.finish())[-1]["type"] == "response.incomplete"
