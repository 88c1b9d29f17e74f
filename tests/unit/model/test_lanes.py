"""Sub-tasks beside the conversation: on lanes of one connection where the service grants them, else on their own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_core.errors import UsageError
from agent_core.model.port import CallRequest, CallResult, Items, TextDelta
from agent_core.model.session import Lane
from agent_core.model.settings import ModelSettings
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.relay import Relay, relay_to
from tests.support.model.scripted_service import Peer, replies, running
from tests.support.model.session import Talk, talking
from tests.support.service.running import KEY, running_service


class Beside:
    """A lane with a history of its own."""

    def __init__(self, lane: Lane, model: str = "scripted", items: list[bytes] | None = None) -> None:
        self.lane, self.model, self.history = lane, model, Items(items or ())

    def request(self, *, tools: bytes = b"[]", instructions: str = "Be brief.") -> CallRequest:
        return CallRequest(model=self.model, instructions=instructions, tools=tools, items=self.history)

    async def call(self, *items: dict[str, Any], **fields: Any) -> CallResult:
        self.history.extend(json.dumps(item).encode() for item in items)
        async with asyncio.timeout(20), contextlib.aclosing(self.lane.call(self.request(**fields))) as stream:
            async for item in stream:
                last = item
        assert isinstance(last, CallResult)
        self.history.extend(last.items)
        return last


@asynccontextmanager
async def relayed(**settings: Any) -> AsyncIterator[tuple[Talk, Relay]]:
    """A talk with the product's own service through a relay that keeps the frames."""
    with running_service() as service:
        async with (
            relay_to(service.url) as relay,
            talking(relay.base_url, api_key=KEY, own_service=True, **settings) as talk,
        ):
            talk.model, talk.tools = "scripted", b"[]"
            yield talk, relay


def stream_ids(frames: list[dict[str, Any]], kind: str = "response.create") -> list[str | None]:
    return [frame.get("stream_id") for frame in frames if frame["type"] == kind]


async def test_lanes_share_one_connection_and_each_keeps_its_chain() -> None:
    async with relayed() as (talk, relay):
        left, right = (Beside(talk.session.lane(name)) for name in ("left", "right"))
        for n in range(3):
            await asyncio.gather(
                talk.call(make.user(f"main {n}")), *(side.call(make.user(f"{n}")) for side in (left, right))
            )
        assert relay.handshakes == 1
    ids = stream_ids(relay.up[0])
    assert sorted(ids, key=str) == [None] * 3 + ["left"] * 3 + ["right"] * 3
    reuse = {(event.lane, event.reuse) for event in talk.events(ev.CallSent)}
    assert reuse == {(lane, reuse) for lane in (None, "left", "right") for reuse in ("first", "reused")}
    assert {event.lane for event in talk.events(ev.CallCompleted)} == {None, "left", "right"}
    assert len(talk.events(ev.ConnectionOpened)) == len(talk.events(ev.ConnectionClosed)) == 1


async def test_a_lane_streams_while_another_one_runs() -> None:
    """No call waits for the other's end: the slow one's first words come before the quick one is asked."""
    async with relayed() as (talk, _):
        slow = Beside(talk.session.lane("slow"), "scripted:slow")
        slow.history.append(json.dumps(make.user("tell me")).encode())
        async with asyncio.timeout(20), contextlib.aclosing(slow.lane.call(slow.request())) as stream:
            async for item in stream:
                if isinstance(item, TextDelta):
                    result = await talk.call(make.user("quick"))
                    break
        assert result.items
    assert talk.told(ev.CallCompleted, "status") == ["completed", "cancelled"]


async def test_a_fork_goes_on_from_the_main_lanes_response() -> None:
    async with relayed() as (talk, relay):
        await talk.call(make.user("one"))
        fork = Beside(talk.session.lane("sub", fork=True), items=talk.history.raw(0))
        await fork.call(make.user("two"), tools=talk.tools)
        await talk.call(make.user("three"))
        await fork.call(make.user("four"), tools=talk.tools)
    creates = [frame for frame in relay.up[0] if frame["type"] == "response.create"]
    answers = [frame["response"]["id"] for frame in relay.down[0] if frame["type"] == "response.completed"]
    assert [create.get("previous_response_id") for create in creates] == [None, answers[0], answers[0], answers[1]]
    assert [len(create["input"]) for create in creates] == [1, 1, 1, 1]
    assert talk.told(ev.CallSent, "reuse") == ["first", "reused", "reused", "reused"]


async def test_the_main_lane_does_not_move_on_before_a_fork_of_its_response_has_begun() -> None:
    """With store=false the parent must still be held when the fork starts (OpenAI guide "WebSocket mode")."""
    order: list[str] = []
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.answer(make.ladder("resp_1", make.message("one")))
        fork = await peer.next()
        order.append(f"fork of {fork['previous_response_id']}")
        asked.set()
        await peer.settle()
        await peer.settle()
        assert peer.creates[2:] == []
        ladder = [event | {"stream_id": "sub"} for event in make.ladder("resp_2", make.message("two"))]
        await peer.send(*ladder[:2])
        main = await peer.next()
        order.append(f"main from {main['previous_response_id']}")
        await peer.send(*ladder[2:], *make.ladder("resp_3", make.message("three")))
        await peer.left()

    async with running(script) as service, talking(service.base_url, lanes=True) as talk:
        await talk.call(make.user("1"))
        fork = Beside(talk.session.lane("sub", fork=True), "m", talk.history.raw(0))
        forking = asyncio.create_task(fork.call(make.user("2"), tools=talk.tools))
        await asked.wait()
        await asyncio.gather(forking, talk.call(make.user("3")))
    assert order == ["fork of resp_1", "main from resp_1"]


@pytest.mark.parametrize("code", ["websocket_stream_limit_reached", "invalid_stream_id"])
async def test_a_lane_that_is_refused_goes_on_over_a_connection_of_its_own(code: str) -> None:
    async def refuse(peer: Peer) -> None:
        frame = await peer.next()
        await peer.send(make.error(code, param="stream_id") | {"stream_id": frame["stream_id"]})
        await peer.answer(make.ladder("resp_3", make.message("main")))
        await peer.left()

    own = replies(make.ladder("resp_1", make.message("a")), make.ladder("resp_2", make.message("b")))
    async with running(refuse, own) as service, talking(service.base_url, lanes=True) as talk:
        side = Beside(talk.session.lane("side"), "m")
        first = await side.call(make.user("1"))
        await side.call(make.user("2"))
        await talk.call(make.user("3"))
        assert ["stream_id" in create.body for create in service.creates] == [True, False, False, False]
        assert [create.connection for create in service.creates] == [1, 2, 2, 1]
    assert first.attempts == 2 and talk.clock.slept_s == []
    assert talk.told(ev.CallSent, "lane") == ["side", None, None, None]


async def test_where_no_lanes_are_granted_a_sub_task_has_its_own_connection() -> None:
    main = replies(make.ladder("resp_1", make.message("a")))
    side = replies(make.ladder("resp_2", make.message("b")))
    async with running(main, side) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        await Beside(talk.session.lane("side"), "m").call(make.user("2"))
        assert ["stream_id" in create.body for create in service.creates] == [False, False]
        assert len(service.handshakes) == 2
    assert talk.told(ev.ConnectionClosed, "cause") == ["session_closed"] * 2


async def test_a_cancelled_lane_leaves_the_others_alone_and_the_connection_open() -> None:
    async with relayed() as (talk, relay):
        slow = Beside(talk.session.lane("slow"), "scripted:slow")
        slow.history.append(json.dumps(make.user("tell me")).encode())
        for _ in range(2):
            async with contextlib.aclosing(slow.lane.call(slow.request())) as stream:
                async for item in stream:
                    if isinstance(item, TextDelta):
                        break
            await talk.call(make.user("go on"))
        slow.model = "scripted"
        await slow.call(make.user("never mind"))
        assert relay.handshakes == 1
    assert stream_ids(relay.up[0], "response.cancel") == ["slow", "slow"]
    assert talk.told(ev.CallCompleted, "status") == ["cancelled", "completed", "cancelled", "completed", "completed"]


async def test_a_lane_whose_response_runs_on_takes_another_name_on_the_same_connection() -> None:
    """A tail that may still come must not answer the lane's next call, and is no reason to end everybody's socket."""

    async def script(peer: Peer) -> None:
        frame = await peer.next()
        tail = [event | {"stream_id": "side"} for event in make.ladder("resp_1", make.message("late"))]
        assert frame["stream_id"] == "side"
        await peer.send(*tail[:3])
        again = await peer.next()
        assert again["stream_id"] == "side.2"
        ladder = [event | {"stream_id": "side.2"} for event in make.ladder("resp_2", make.message("on time"))]
        await peer.send(*tail[3:], *ladder)
        await peer.answer(make.ladder("resp_3", make.message("main")))
        await peer.left()

    async with running(script) as service, talking(service.base_url, lanes=True, drain_timeout_s=0.02) as talk:
        side = Beside(talk.session.lane("side"), "m")
        side.history.append(json.dumps(make.user("1")).encode())
        async with contextlib.aclosing(side.lane.call(side.request())) as stream:
            async for _ in stream:
                break
        result = await side.call(make.user("2"))
        await talk.call(make.user("3"))
        assert [json.loads(item) for item in result.items] == [make.message("on time")]
        assert len(service.handshakes) == 1


async def test_a_lost_connection_is_replaced_once_for_all_its_lanes() -> None:
    async def drop(peer: Peer) -> None:
        for _ in range(2):
            await peer.next()
        await peer.drop()

    async def serve(peer: Peer) -> None:
        for n in range(2):
            frame = await peer.next()
            echo = {"stream_id": frame["stream_id"]} if "stream_id" in frame else {}
            await peer.send(*(event | echo for event in make.ladder(f"resp_{n}", make.message("hello"))))
        await peer.left()

    async with running(drop, serve) as service, talking(service.base_url, lanes=True) as talk:
        side = Beside(talk.session.lane("side"), "m")
        await asyncio.gather(talk.call(make.user("1")), side.call(make.user("2")))
        assert len(service.handshakes) == 2
    assert len(talk.events(ev.ConnectionReconnected)) == 1
    assert talk.told(ev.ConnectionClosed, "cause") == ["connection_lost", "session_closed"]


async def test_an_aged_connection_ends_when_the_last_lane_left_it() -> None:
    async with relayed() as (talk, relay):
        side = Beside(talk.session.lane("side"))
        await asyncio.gather(talk.call(make.user("1")), side.call(make.user("2")))
        talk.clock.jump(56 * 60)
        await talk.call(make.user("3"))
        assert talk.events(ev.ConnectionClosed) == []
        await side.call(make.user("4"))
        assert relay.handshakes == 2
        assert talk.told(ev.ConnectionClosed, "cause") == ["rotated"]
    assert len(talk.events(ev.ConnectionRotated)) == 1
    assert [event.reuse for event in talk.events(ev.CallSent)][2:] == ["rotated", "rotated"]


async def test_a_lane_over_http_is_an_ordinary_conversation() -> None:
    async with relayed(transport="http") as (talk, relay):
        pass
    with running_service() as service:
        async with talking(service.base_url, api_key=KEY, transport="http") as talk:
            result = await Beside(talk.session.lane("side")).call(make.user("1"))
    assert result.transport == "http" and relay.handshakes == 0
    assert talk.told(ev.CallSent, "lane") == [None]


async def test_names_of_lanes_are_checked_and_free_again_after_the_end() -> None:
    async with relayed() as (talk, _):
        lane = talk.session.lane("side")
        for name in ("side", "", "a b", "x" * 257):
            with pytest.raises(UsageError):
                talk.session.lane(name)
        await lane.close()
        await Beside(talk.session.lane("side")).call(make.user("1"))


def test_who_grants_lanes() -> None:
    assert ModelSettings(base_url="https://api.openai.com/v1").grants_lanes
    assert ModelSettings(base_url="http://127.0.0.1:1/v1", own_service=True).grants_lanes
    assert not ModelSettings(base_url="https://other.example/v1").grants_lanes
    assert not ModelSettings(base_url="https://api.openai.com/v1", lanes=False).grants_lanes
