"""When WebSocket is not the way: HTTP for one call or for some minutes, and back."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ConnectionLost
from agent_core.model.port import CallStarted, FellBack, Reconnecting
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, Post, Refuse, SocketScript, replies, running
from tests.support.model.session import talking

FIRST = make.ladder("resp_1", make.reasoning(), make.tool_call())
SECOND = make.ladder("resp_2", make.message("hello"))
ANSWER = [make.message("hello")]


def breaking(events: list[make.Json], close_code: int | None) -> SocketScript:
    """A connection whose first call goes well; the second gets `events`, and then the end."""

    async def script(peer: Peer) -> None:
        await peer.answer(FIRST)
        await peer.next()
        await peer.send(*events)
        await (peer.drop() if close_code is None else peer.close(close_code))

    return script


async def test_retries_are_bounded_and_then_http_takes_over_without_losing_an_item() -> None:
    """openai/codex#20739, #24533, #30933: closed before response.completed, five retries, then stuck."""

    async def drop(peer: Peer) -> None:
        await peer.next()
        await peer.drop()

    sockets = [breaking(SECOND[:5], 1012), *[drop] * 5]
    async with running(*sockets, posts=[Post(SECOND)]) as service, talking(service.base_url) as talk:
        await talk.call(make.user("fix it"))
        result = await talk.call(make.tool_output())
        assert [json.loads(item) for item in result.items] == ANSWER
        (post,) = service.posts
        assert post.input == [make.user("fix it"), make.reasoning(), make.tool_call(), make.tool_output()]
        assert post.body["stream"] is True
    assert talk.clock.slept_s == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2])
    assert [item.number for item in talk.seen if isinstance(item, Reconnecting)] == [1, 2, 3, 4, 5]
    assert talk.told(ev.ConnectionFallback, "cause") == ["connection_lost"]
    assert FellBack("connection_lost", 300.0) in talk.seen
    assert (result.transport, result.attempts) == ("http", 7)


async def test_http_is_left_again_after_some_minutes() -> None:
    posts = [Post(FIRST), Post(SECOND)]
    later = make.ladder("resp_3", make.message("back"))
    async with (
        running(Refuse(426), replies(later, make.ladder("resp_4")), posts=posts) as service,
        talking(service.base_url, websocket_again_after_s=300) as talk,
    ):
        await talk.call(make.user("1"))
        talk.clock.jump(299)
        await talk.call(make.tool_output())
        talk.clock.jump(2)
        result = await talk.call(make.user("2"))
        assert [item.back for item in talk.seen if isinstance(item, CallStarted)] == [True]
        await talk.call(make.user("3"))
        assert [item.back for item in talk.seen if isinstance(item, CallStarted)] == [False]
        assert len(service.handshakes) == 2
    assert talk.told(ev.CallSent, "transport") == ["http", "http", "websocket", "websocket"]
    assert talk.told(ev.CallSent, "reuse") == ["first", "full_resend", "first", "reused"]
    assert result.transport == "websocket"


async def test_a_probe_that_fails_falls_back_at_once() -> None:
    posts = [Post(FIRST), Post(SECOND)]
    async with running(Refuse(426), Refuse(502), posts=posts) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        talk.clock.jump(301)
        await talk.call(make.tool_output())
    assert talk.told(ev.ConnectionFallback, "cause") == ["handshake_refused", "handshake_refused"]
    assert talk.clock.slept_s == []


async def test_a_websocket_that_works_again_has_all_its_tries_again() -> None:
    async def drop_second(peer: Peer) -> None:
        await peer.answer(SECOND)
        await peer.next()
        await peer.drop()

    third = replies(make.ladder("resp_3", make.message("back")))
    async with (
        running(Refuse(426), drop_second, third, posts=[Post(FIRST)]) as service,
        talking(service.base_url) as talk,
    ):
        await talk.call(make.user("1"))
        talk.clock.jump(301)
        await talk.call(make.tool_output())
        result = await talk.call(make.user("2"))
    assert (result.transport, result.reuse) == ("websocket", "reconnected")
    assert len(talk.events(ev.ConnectionFallback)) == 1


@pytest.mark.parametrize("status", [426, 404, 405, 501])
async def test_a_service_without_websocket_is_used_over_http_at_once(status: int) -> None:
    """openai/openai-agents-python#2558, nick3/copilot-api#86: a proxy without WebSocket is no reason to spend
    retries."""
    sockets = [Refuse(status)] * (1 if status < 500 else 2)
    async with running(*sockets, posts=[Post(FIRST)]) as service, talking(service.base_url) as talk:
        result = await talk.call(make.user("1"))
    assert (result.transport, result.reuse, result.attempts) == ("http", "first", 1)
    assert talk.told(ev.ConnectionFallback, "cause") == ["handshake_refused"]
    assert len(talk.clock.slept_s) == len(sockets) - 1


async def test_a_request_above_the_frame_limit_goes_by_http_and_the_socket_stays() -> None:
    """lidge-jun/opencodex#2426, router-for-me/CLIProxyAPI#4017: above 16 MiB, closed with 1009, reconnected for
    ever."""
    big = make.user("x" * 5000)
    third = make.ladder("resp_3", make.message("small again"))
    async with (
        running(replies(FIRST), posts=[Post(SECOND), Post(third)]) as service,
        talking(service.base_url, max_frame_bytes=4000) as talk,
    ):
        await talk.call(make.user("1"))
        result = await talk.call(make.tool_output(), big)
        assert service.posts[0].input[-1] == big
        assert FellBack("message_too_large", 0.0) in talk.seen
        await talk.call(make.user("still too large, since the socket never got it"))
        assert len(service.handshakes) == 1
        assert len(service.creates) == 1
    assert (result.transport, result.attempts) == ("http", 1)
    assert talk.events(ev.ConnectionFallback) == []
    assert talk.clock.slept_s == []


async def test_a_service_with_a_lower_limit_is_believed() -> None:
    async with running(breaking([], 1009), posts=[Post(SECOND)]) as service, talking(service.base_url) as talk:
        await talk.call(make.user("fix it"))
        result = await talk.call(make.tool_output())
        assert len(service.handshakes) == 1
    assert (result.transport, result.attempts) == ("http", 2)


async def test_the_websocket_policy_raises_instead_of_changing_over() -> None:
    async def drop(peer: Peer) -> None:
        await peer.next()
        await peer.drop()

    async with (
        running(*[drop] * 3) as service,
        talking(service.base_url, transport="websocket", reconnect_limit=2) as talk,
    ):
        with pytest.raises(ConnectionLost):
            await talk.call(make.user("1"))
        assert service.posts == []


async def test_http_has_tries_of_its_own_after_the_websocket_used_up_its_tries() -> None:
    async def drop(peer: Peer) -> None:
        await peer.next()
        await peer.drop()

    posts = [Post(SECOND[:4], cut=True), Post(SECOND)]
    async with running(*[drop] * 6, posts=posts) as service, talking(service.base_url) as talk:
        result = await talk.call(make.user("1"))
    assert (result.transport, result.attempts) == ("http", 8)


async def test_a_first_connection_that_took_two_tries_is_no_reconnection() -> None:
    async with running(Refuse(502), replies(FIRST)) as service, talking(service.base_url) as talk:
        result = await talk.call(make.user("1"))
    assert (result.transport, result.reuse, result.attempts) == ("websocket", "first", 1)
    assert talk.told(ev.ConnectionOpened, "cause") == [None]
    assert talk.events(ev.ConnectionReconnected) == []
