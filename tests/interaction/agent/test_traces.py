"""What goes over the wire, frame by frame: prewarm, rotation, fallback and the return to WebSocket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_core.telemetry import events as ev
from tests.support.agent.session import Worker, working
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, Post, Refuse, SocketScript, replies, running

WARM = make.warm("resp_w")


def reading(n: int) -> list[dict[str, Any]]:
    return make.ladder(f"resp_{n}", make.reasoning(item_id=f"rs_{n}"), make.tool_call(f"call_{n}"))


def saying(n: int) -> list[dict[str, Any]]:
    return make.ladder(f"resp_{n}", make.message(f"answer {n}", f"msg_{n}"))


def told(work: Worker, *kinds: type[ev.Event]) -> list[str]:
    """The connection's events in order, with their causes."""
    lines = []
    for event in work.sink.events:
        if isinstance(event, kinds):
            tag = str(type(event).__struct_config__.tag)
            lines.append(f"{tag} {getattr(event, 'cause', None) or ''}".rstrip())
    return lines


CONNECTION = (
    ev.ConnectionOpened, ev.ConnectionPrewarmed, ev.ConnectionRotated, ev.ConnectionReconnected, ev.ConnectionFallback,
)  # fmt: skip


async def test_prewarm(tmp_path: Path) -> None:
    """Instructions, tools and the workspace go before the user speaks, so the first turn pays for its own words."""
    async with running(replies(WARM, reading(1), saying(2))) as service, working(service.base_url, tmp_path) as work:
        assert service.trace == ["socket 1 opened", "socket 1 <- warm-up in full: developer"]
        await work.session.run_turn("look")
    assert service.trace[2:] == [
        "socket 1 <- create continuing resp_w: user",
        "socket 1 <- create continuing resp_1: function_call_output",
    ]
    warm, first, second = service.creates
    fields = ("model", "instructions", "tools", "store", "include")
    assert [warm.body[key] for key in fields] == [first.body[key] for key in fields]
    assert warm.body["store"] is False and warm.body["include"] == ["reasoning.encrypted_content"]
    assert second.size < warm.size
    assert told(work, *CONNECTION) == ["connection.opened", "connection.prewarmed"]


async def test_rotation(tmp_path: Path) -> None:
    """A second socket stands before the first reaches its age; the change falls between two calls."""
    sockets = [replies(WARM, saying(1), saying(2)), replies(saying(3), saying(4))]
    async with running(*sockets) as service, working(service.base_url, tmp_path) as work:
        await work.session.run_turn("one")
        work.clock.jump(54.5 * 60)
        await work.session.run_turn("two")
        await service.until_opened(2)
        work.clock.jump(60)
        await work.session.run_turn("three")
        await work.session.run_turn("four")
    assert service.trace == [
        "socket 1 opened",
        "socket 1 <- warm-up in full: developer",
        "socket 1 <- create continuing resp_w: user",
        "socket 1 <- create continuing resp_1: user",
        "socket 2 opened",
        "socket 2 <- create in full: developer, user, assistant, user, assistant, user",
        "socket 2 <- create continuing resp_3: user",
    ]
    assert told(work, *CONNECTION) == [
        "connection.opened", "connection.prewarmed", "connection.opened ahead", "connection.rotated age",
    ]  # fmt: skip
    assert work.notices == ["the connection was renewed before its age limit; the conversation was sent in full once"]


async def test_fallback_and_return(tmp_path: Path) -> None:
    """Five tries, then HTTP with the whole input; after five minutes the WebSocket carries the conversation again."""

    async def dying(peer: Peer) -> None:
        await peer.answer(WARM, reading(1))
        await peer.next()
        await peer.send(*saying(2)[:4])
        await peer.reset()

    async def dead(peer: Peer) -> None:
        await peer.next()
        await peer.drop()

    sockets: list[SocketScript | Refuse] = [dying, *[dead] * 4, Refuse(502), replies(saying(5), saying(6))]
    posts = [Post(saying(2)), Post(saying(3))]
    async with running(*sockets, posts=posts) as service, working(service.base_url, tmp_path) as work:
        await work.session.run_turn("one")
        work.clock.jump(120)
        await work.session.run_turn("two")
        work.clock.jump(181)
        await work.session.run_turn("three")
        await work.session.run_turn("four")
    whole = "developer, user, reasoning, function_call, function_call_output"
    assert service.trace == [
        "socket 1 opened",
        "socket 1 <- warm-up in full: developer",
        "socket 1 <- create continuing resp_w: user",
        "socket 1 <- create continuing resp_1: function_call_output",
        *(line for n in range(2, 6) for line in (f"socket {n} opened", f"socket {n} <- create in full: {whole}")),
        "upgrade refused with 502",
        f"POST <- create in full: {whole}",
        f"POST <- create in full: {whole}, assistant, user",
        "socket 7 opened",
        f"socket 7 <- create in full: {whole}, assistant, user, assistant, user",
        "socket 7 <- create continuing resp_5: user",
    ]
    assert work.notices == [
        "reconnecting 1/5: connection_lost",
        *(line for n in range(2, 6) for line in (
            "reconnected; the conversation was sent again in full", f"reconnecting {n}/5: connection_lost")),
        "WebSocket does not work (handshake_refused); using HTTP, and trying again in 5 min",
        "back on WebSocket",
    ]  # fmt: skip
    assert work.clock.slept_s == [0.2, 0.4, 0.8, 1.6, 3.2]
    assert told(work, ev.ConnectionFallback) == ["connection.fallback handshake_refused"]
    assert work.toolbox.runs == {"call_1": 1}


async def test_a_lost_chain(tmp_path: Path) -> None:
    """Not found: the whole input again, at once, on the same socket; reasoning comes along, encrypted."""
    sockets = replies(WARM, reading(1), [make.not_found("resp_1")], saying(3))
    async with running(sockets) as service, working(service.base_url, tmp_path) as work:
        outcome = await work.session.run_turn("one")
    assert service.trace == [
        "socket 1 opened",
        "socket 1 <- warm-up in full: developer",
        "socket 1 <- create continuing resp_w: user",
        "socket 1 <- create continuing resp_1: function_call_output",
        "socket 1 <- create in full: developer, user, reasoning, function_call, function_call_output",
    ]
    assert make.reasoning(item_id="rs_1") in service.creates[-1].input
    assert outcome.calls == 2 and work.clock.slept_s == []
    reuse = [event.reuse for event in work.sink.events if isinstance(event, ev.CallSent)]
    assert reuse == ["first", "reused", "reused", "not_found"]
    assert json.dumps(work.notices).count("no longer held") == 1
