"""How responses and connections end: cancel, a client that leaves, silence, lifetime, and the telemetry of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.telemetry.events import ServiceCall
from tests.support.service.running import ENDLESS, Running, connected, http_client, parse_sse, playing, running_service
from tests.support.system.waiting import eventually


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose every first response goes on for longer than any test waits."""
    with playing(tmp_path_factory.mktemp("endless"), ENDLESS) as running:
        yield running


async def begin(socket: Any, model: str = "scripted:slow", **fields: Any) -> str:
    """A response that takes three seconds, or what `model` takes, once its first words are there; its id."""
    await socket.create(model=model, input="go", store=False, **fields)
    events = await socket.read_until("response.output_text.delta")
    return str(events[0]["response"]["id"])


@pytest.mark.rule("cancel.running")
@pytest.mark.parametrize("lane", [None, "side"])
async def test_cancel_ends_the_lanes_response(endless: Running, lane: str | None) -> None:
    named = {} if lane is None else {"stream_id": lane}
    async with connected(endless) as socket:
        response_id = await begin(socket, "scripted", **named)
        await socket.send({"type": "response.cancel", **named})
        last = (await socket.finish())[-1]
        assert last["type"] == "response.incomplete"
        assert (last["response"]["id"], last["response"]["status"]) == (response_id, "cancelled")
        assert last["response"]["incomplete_details"] is None
        assert [item["content"][0]["text"] for item in last["response"]["output"]] == ["a "], "what was whole by then"
        assert last["response"]["usage"]["input_tokens"] > 0
        assert last.get("stream_id") == lane
        await begin(socket, "scripted", **named)


@pytest.mark.rule("cancel.lane")
async def test_cancel_goes_to_its_own_lane_only(service: Running) -> None:
    async with connected(service) as socket:
        await begin(socket, stream_id="side")
        await socket.send({"type": "response.cancel"})
        await socket.response(input="the default lane")
        await socket.send({"type": "response.cancel", "stream_id": "side"})
        assert (await socket.finish())[-1]["response"]["status"] == "cancelled"


@pytest.mark.rule("cancel.parent")
async def test_a_cancelled_continuation_leaves_its_parent(service: Running) -> None:
    async with connected(service) as socket:
        parent = await socket.response(input="one", store=False)
        cancelled = await begin(socket, previous_response_id=parent["id"])
        await socket.send({"type": "response.cancel"})
        await socket.finish()
        gone = await socket.call(input="x", store=False, previous_response_id=cancelled)
        assert gone["error"]["code"] == "previous_response_not_found"
        await socket.response(input="two", store=False, previous_response_id=parent["id"])


@pytest.mark.rule("cancel.queued")
async def test_cancel_of_a_queued_create(endless: Running) -> None:
    """Sixteen responses without end fill the connection, so the seventeenth waits."""
    async with connected(endless) as socket:
        for number in range(16):
            await socket.create(input="go", store=False, stream_id=f"lane-{number}")
        await socket.create(input="go", store=False, stream_id="queued")
        await socket.send({"type": "response.cancel", "stream_id": "queued"})
        events: list[Any] = []
        while not events or events[-1]["type"] != "response.incomplete":
            event = await socket.read()
            if event.get("stream_id") == "queued":
                events.append(event)
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.incomplete",
    ]
    assert events[-1]["response"]["status"] == "cancelled"


@pytest.mark.rule("cancel.idle")
async def test_cancel_with_nothing_to_cancel_is_ignored(service: Running) -> None:
    async with connected(service) as socket:
        await socket.send({"type": "response.cancel"})
        await socket.send({"type": "response.cancel", "stream_id": "never"})
        await socket.response(input="go")
        await socket.send({"type": "response.cancel"})
        await socket.response(input="go")


@pytest.mark.rule("ws.leave")
@pytest.mark.parametrize("how", ["close", "abort"])
async def test_a_client_that_leaves_frees_its_generation(endless: Running, how: str) -> None:
    async with connected(endless) as socket:
        response_id = await begin(socket, "scripted")
        if how == "abort":
            socket.connection.transport.abort()
        else:
            await socket.connection.close()
        await eventually(lambda: endless.service_call(response_id))
    await eventually(lambda: not endless.service.live)


@pytest.mark.rule("http.leave")
async def test_an_http_client_that_leaves_frees_its_generation(endless: Running) -> None:
    body = {"model": "scripted", "input": "go", "stream": True, "store": False}
    before = len(endless.sink.events)
    async with http_client(endless) as client, client.stream("POST", "/responses", json=body) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("event: response.output_text.delta"):
                break
    await eventually(lambda: any(isinstance(event, ServiceCall) for event in endless.sink.events[before:]))
    await eventually(lambda: not endless.service.live)


@pytest.fixture
def quiet_rollout(tmp_path: Path) -> Path:
    path = tmp_path / "rollout.json"
    path.write_text(json.dumps({"steps": [{"delay_ms": 350, "output": [{"text": "late"}]}]}))
    return path


@pytest.mark.rule("ws.keepalive")
async def test_silence_is_broken_by_repeating_in_progress(quiet_rollout: Path) -> None:
    with running_service(rollout_file=quiet_rollout, keepalive_s=0.1) as running:
        async with connected(running) as socket:
            await socket.create(input="go")
            events = await socket.finish()
        async with http_client(running) as client:
            body = {"model": "scripted", "input": "go", "stream": True}
            streamed = [data for _, data in parse_sse((await client.post("/responses", json=body)).text)[:-1]]
    for found in (events, streamed):
        assert [event["sequence_number"] for event in found] == list(range(len(found)))
        kinds = [event["type"] for event in found]
        repeats = kinds.index("response.output_item.added") - 1
        assert kinds[1 : repeats + 1] == ["response.in_progress"] * repeats
        assert 2 <= repeats <= 5, "once in a tenth of a second, or less often where the machine is busy"
        assert kinds[-1] == "response.completed"


@pytest.mark.rule("ws.keepalive")
async def test_keepalives_can_be_switched_off(quiet_rollout: Path) -> None:
    with running_service(rollout_file=quiet_rollout, keepalive_s=0) as running:
        async with connected(running) as socket:
            await socket.create(input="go")
            kinds = [event["type"] for event in await socket.finish()]
    assert kinds.count("response.in_progress") == 1


@pytest.mark.rule("ws.lifetime")
async def test_an_idle_connection_ends_at_its_limit() -> None:
    with running_service(connection_minutes=0.2 / 60) as running:
        async with connected(running) as socket:
            error = await socket.read()
            assert (error["status"], error["error"]["code"]) == (400, "websocket_connection_limit_reached")
            assert error["error"]["message"].startswith("Responses websocket connection limit reached")
            assert await socket.closed() == (1001, "connection lifetime reached")


@pytest.mark.rule("ws.lifetime")
async def test_what_runs_at_the_limit_ends_well_and_the_rest_is_told(quiet_rollout: Path) -> None:
    with running_service(rollout_file=quiet_rollout, connection_minutes=0.2 / 60) as running:
        async with connected(running) as socket:
            await socket.create(input="go")
            await socket.create(input="queued")
            assert (await socket.finish())[-1]["type"] == "response.completed"
            error = await socket.read()
            assert error["error"]["code"] == "websocket_connection_limit_reached"
            assert (await socket.closed())[0] == 1001


@pytest.mark.rule("events.timing")
async def test_timing_is_told_before_the_end_to_those_who_ask(service: Running) -> None:
    asked = {"x-responsesapi-include-timing-metrics": "true"}
    async with connected(service, headers=asked) as socket:
        await socket.create(input="go")
        events = await socket.finish()
    assert [event["type"] for event in events[-2:]] == ["responsesapi.websocket_timing", "response.completed"]
    metrics = events[-2]["timing_metrics"]
    assert metrics["engine_service_total_ms"] >= metrics["engine_service_ttft_total_ms"] > 0
    assert metrics["responses_duration_excl_engine_and_client_tool_time_ms"] > 0
    told = {"admission", "queue", "state", "validate", "screen", "route", "render", "engine_ttft", "engine"}
    assert told == set(metrics["stages_ms"]), "settling comes behind the last event"
    assert 0 < metrics["first_event_cpu_ms"] <= metrics["first_event_ms"] + 1
    body = {"model": "scripted", "input": "go", "stream": True}
    async with connected(service) as socket, http_client(service) as client:
        streamed = parse_sse((await client.post("/responses", json=body, headers=asked)).text)
        assert [name for name, _ in streamed[-3:-1]] == ["responsesapi.websocket_timing", "response.completed"]
        await socket.create(input="go")
        assert not any("timing" in event["type"] for event in await socket.finish())
        assert "timing" not in (await client.post("/responses", json=body)).text


@pytest.mark.rule("ws.many")
async def test_many_connections_come_and_go() -> None:
    with running_service() as running:

        async def visit(number: int) -> None:
            async with connected(running) as socket:
                await socket.response(input=f"hello {number}")

        async with asyncio.timeout(30):
            await asyncio.gather(*(visit(number) for number in range(40)))
        await eventually(lambda: not running.service.live)


@pytest.mark.rule("cancel.running")
@pytest.mark.parametrize("model", ["scripted", "scripted:slow"])
async def test_a_cancel_right_behind_its_create(service: Running, model: str) -> None:
    """Both frames are read before the response takes its first step; it is still answered, and the lane is free."""
    async with connected(service) as socket:
        for _ in range(20):
            await asyncio.gather(
                socket.create(model=model, input="go", store=False), socket.send({"type": "response.cancel"})
            )
            last = (await socket.finish())[-1]
            assert last["type"] in ("response.incomplete", "response.completed")
        await socket.response(input="go")


@pytest.mark.rule("cancel.idle")
async def test_a_cancel_that_names_its_response(service: Running) -> None:
    async with connected(service) as socket:
        old = await socket.response(input="go")
        response_id = await begin(socket)
        await socket.send({"type": "response.cancel", "response_id": old["id"]})
        assert (await socket.read())["type"] == "response.output_text.delta"
        await socket.send({"type": "response.cancel", "response_id": response_id})
        assert (await socket.finish())[-1]["response"]["status"] == "cancelled"


@pytest.mark.rule("errors.fault")
async def test_a_fault_of_the_service_is_told_and_logged_without_content(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_service() as running:
        engine = running.service.registry.find("scripted")
        assert engine is not None

        def break_down(request: Any) -> Any:
            raise ZeroDivisionError(f"broke on {request.items[0].content}")

        monkeypatch.setattr(engine, "stream", break_down)
        async with connected(running) as socket:
            last = await socket.call(input="the secret words", store=False)
            assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "server_error")
            again = await socket.call(input="x", generate=False, store=False)
            assert again["type"] == "response.completed"
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


def progress(running: Running) -> int:
    """Events made so far by the one response that runs; 0 if none does."""
    answers = [answer for connection in running.service.live for answer in connection._running.values()]  # type: ignore[attr-defined]
    return answers[0].call.ladder._sequence if answers and answers[0].call.ladder else 0


async def stuck(running: Running) -> None:
    """Wait until the running response makes no progress."""
    async with asyncio.timeout(20):
        before = 0
        while progress(running) != before or before == 0:
            before = progress(running)
            await asyncio.sleep(0.05)


@pytest.mark.rule("events.nothing_lost")
async def test_a_cancel_in_the_middle_of_a_blocked_write_loses_no_event(tmp_path: Path) -> None:
    """The client does not read, so the response waits for the socket; after the cancel every number is still there."""
    path = tmp_path / "rollout.json"
    path.write_text(json.dumps({"steps": [{"output": [{"text": ("x" * 4000 + " ") * 6000}]}]}))
    with running_service(rollout_file=path) as running:
        async with connected(running, compression=None) as socket:
            transport = socket.connection.transport
            await socket.create(input="go", store=False)
            first = await socket.read()
            transport.pause_reading()
            await stuck(running)
            await socket.send({"type": "response.cancel"})
            transport.resume_reading()
            events = [first, *await socket.finish()]
            assert [event["sequence_number"] for event in events] == list(range(len(events)))
            assert len(events) < 6000
            assert events[-1]["response"]["status"] == "cancelled"
            assert (await socket.response(input="go", store=False, generate=False))["output"] == []
