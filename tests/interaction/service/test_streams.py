"""Lanes over real sockets: one FIFO each, side by side, within the limits of a connection."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.running import ENDS, Running, Socket, connected, running_service

ROLLOUT = {"steps": [{"output": [{"text": "a "}, {"pause_ms": 150}, {"text": "b"}]}] * 2}


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Every answer takes 150 ms in its middle."""
    path: Path = tmp_path_factory.mktemp("rollout") / "rollout.json"
    path.write_text(json.dumps(ROLLOUT))
    with running_service(rollout_file=path) as running:
        yield running


async def read_ends(socket: Socket, count: int) -> list[Any]:
    """Events up to the `count`-th end."""
    events: list[Any] = []
    while sum(event["type"] in ENDS for event in events) < count:
        events.append(await socket.read())
    return events


@pytest.mark.rule("lanes.fifo")
@pytest.mark.rule("events.sequence")
async def test_overlapping_creates_are_queued_and_answered_one_after_the_other(paused: Running) -> None:
    async with connected(paused) as socket:
        for number in range(3):
            await socket.create(input=f"number {number}", store=False, metadata={"number": str(number)})
        events = await read_ends(socket, 3)
    order = [
        (event["type"], event["response"]["metadata"]["number"])
        for event in events
        if event["type"] in ("response.created", "response.completed")
    ]
    assert order == [(kind, str(number)) for number in range(3) for kind in ("response.created", "response.completed")]
    per_response: list[list[int]] = []
    for event in events:
        if event["type"] == "response.created":
            per_response.append([])
        per_response[-1].append(event["sequence_number"])
    assert all(numbers == list(range(len(numbers))) for numbers in per_response)


@pytest.mark.rule("lanes.fifo")
async def test_a_queued_create_may_continue_the_one_before_it(paused: Running) -> None:
    async with connected(paused) as socket:
        await socket.create(input="one", store=False)
        created = (await socket.read_until("response.created"))[-1]
        await socket.create(input="two", store=False, previous_response_id=created["response"]["id"])
        ends = [event for event in await read_ends(socket, 2) if event["type"] in ENDS]
    assert [end["type"] for end in ends] == ["response.completed"] * 2
    assert ends[1]["response"]["previous_response_id"] == created["response"]["id"]


@pytest.mark.rule("lanes.parallel")
@pytest.mark.rule("lanes.echo")
async def test_lanes_run_side_by_side_and_every_event_echoes_its_lane(paused: Running) -> None:
    names = ["a", "b", "c.d-E_9", None]
    async with connected(paused) as socket:
        for name in names:
            await socket.create(input="go", store=False, **({} if name is None else {"stream_id": name}))
        events = await read_ends(socket, len(names))
    by_lane: dict[Any, list[Any]] = defaultdict(list)
    for event in events:
        by_lane[event.get("stream_id")].append(event)
    assert set(by_lane) == set(names)
    for lane_events in by_lane.values():
        assert [event["sequence_number"] for event in lane_events] == list(range(len(lane_events)))
        assert lane_events[-1]["type"] == "response.completed"
    first_end = next(index for index, event in enumerate(events) if event["type"] in ENDS)
    assert len({event.get("stream_id") for event in events[:first_end]}) == len(names)
    assert "stream_id" not in by_lane[None][0]


@pytest.mark.rule("lanes.in_flight")
async def test_sixteen_in_flight_and_the_rest_queued_without_error(paused: Running) -> None:
    async with connected(paused) as socket:
        for number in range(20):
            await socket.create(input="go", store=False, stream_id=f"lane-{number}")
        events = await read_ends(socket, 20)
    running, most = 0, 0
    for event in events:
        running += event["type"] == "response.created"
        running -= event["type"] in ENDS
        most = max(most, running)
    assert most == 16
    assert [event["type"] for event in events if event["type"] in ENDS] == ["response.completed"] * 20


@pytest.mark.rule("lanes.names")
async def test_thirty_two_names_in_the_life_of_a_connection(service: Running) -> None:
    async with connected(service) as socket:
        for number in range(32):
            await socket.create(input="go", store=False, stream_id=f"lane-{number}")
            await socket.finish()
        await socket.create(input="go", store=False, stream_id="one-more")
        error = await socket.read()
        assert (error["status"], error["error"]["code"]) == (400, "websocket_stream_limit_reached")
        assert (error["error"]["param"], error["stream_id"]) == ("stream_id", "one-more")
        await socket.create(input="go", store=False, stream_id="lane-7")
        assert (await socket.finish())[-1]["type"] == "response.completed"
        await socket.response(input="go")


@pytest.mark.rule("lanes.stream_id")
@pytest.mark.parametrize("name", ["", "no spaces", "x" * 257, "ümlaut", 7, {"a": 1}])
async def test_names_that_are_none(service: Running, name: Any) -> None:
    async with connected(service) as socket:
        await socket.create(input="go", stream_id=name)
        error = await socket.read()
        assert (error["status"], error["error"]["code"]) == (400, "invalid_stream_id")
        assert error["error"]["param"] == "stream_id"
        assert "stream_id" not in error
        await socket.create(input="go", stream_id=None)
        assert "stream_id" not in (await socket.finish())[-1]


@pytest.mark.rule("lanes.order_of_errors")
async def test_an_error_on_a_busy_lane_waits_for_its_turn(paused: Running) -> None:
    async with connected(paused) as socket:
        await socket.create(input="one", store=False)
        await socket.create(input=[{"type": "nonsense"}], store=False)
        await socket.create(input=3, store=False)
        ends = [event for event in await read_ends(socket, 3) if event["type"] in ENDS]
    assert [end["type"] for end in ends] == ["response.completed", "error", "error"]
    assert [end["error"]["param"] for end in ends[1:]] == ["input[0].type", "input"]


@pytest.mark.rule("lanes.isolation")
async def test_a_failure_on_one_lane_leaves_the_others_alone(paused: Running) -> None:
    async with connected(paused) as socket:
        await socket.create(input="go", store=False, stream_id="good")
        await socket.read_until("response.created")
        await socket.create(input=[{"type": "nonsense"}], store=False, stream_id="bad")
        ends = [event for event in await read_ends(socket, 2) if event["type"] in ENDS]
    assert [(end["type"], end["stream_id"]) for end in ends] == [("error", "bad"), ("response.completed", "good")]
