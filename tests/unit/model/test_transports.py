"""Rotation of aged connections, and the HTTP way."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent_core.errors import AuthError, ProtocolError, ServiceError, ServiceUnreachable
from agent_core.model.port import Reconnecting, Restarted
from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.rollup import Rollup
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, Post, Refuse, replies, running
from tests.support.model.session import Talk, talking

ONE = make.ladder("resp_1", make.reasoning(), make.tool_call())
TWO = make.ladder("resp_2", make.message("two"))
THREE = make.ladder("resp_3", make.message("three"))


async def until_connected(talk: Talk) -> None:
    """Wait until the connection that is opened ahead stands."""
    task = talk.session._shared.connections._spare
    assert task is not None
    await asyncio.wait([task], timeout=10)


async def test_an_aged_connection_is_replaced_between_two_calls() -> None:
    """earendil-works/pi#6268: rotate before the service's 60 minutes."""
    async with running(replies(ONE), replies(TWO, THREE)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        talk.clock.jump(55 * 60)
        result = await talk.call(make.tool_output())
        assert len(service.handshakes) == 2
        assert service.creates[1].previous is None
        assert len(service.creates[1].input) == 4
        await talk.call(make.user("2"))
        assert service.creates[2].previous == "resp_2"
    assert (result.reuse, result.attempts) == ("rotated", 1)
    assert talk.told(ev.CallSent, "reuse") == ["first", "rotated", "reused"]
    (rotated,) = talk.events(ev.ConnectionRotated)
    assert 3300 <= rotated.age_s < 3400
    assert rotated.connection == talk.events(ev.ConnectionOpened)[0].connection
    assert talk.told(ev.ConnectionClosed, "cause")[0] == "rotated"
    assert talk.events(ev.ConnectionReconnected) == []
    assert talk.clock.slept_s == []


async def test_a_younger_connection_stays() -> None:
    async with running(replies(ONE, TWO)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        talk.clock.jump(54 * 60)
        await talk.call(make.tool_output())
        assert len(service.handshakes) == 1


async def test_the_next_connection_is_opened_ahead() -> None:
    async with running(replies(ONE, TWO), replies(THREE)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        talk.clock.jump(54 * 60 + 30)
        await talk.call(make.tool_output())
        await until_connected(talk)
        assert len(service.handshakes) == 2
        assert talk.told(ev.ConnectionOpened, "cause") == [None, "ahead"]
        talk.clock.jump(60)
        await talk.call(make.user("2"))
        assert service.creates[2].connection == 2
        assert len(service.handshakes) == 2


async def test_a_connection_that_was_opened_ahead_and_died_is_not_used() -> None:
    async def leave(peer: Peer) -> None:
        await peer.close(1001)

    async with running(replies(ONE, TWO), leave, replies(THREE)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        talk.clock.jump(54 * 60 + 30)
        await talk.call(make.tool_output())
        await until_connected(talk)
        assert talk.session._shared.connections._spare is not None
        await talk.lost((await talk.session._shared.connections._spare).socket)
        talk.clock.jump(60)
        result = await talk.call(make.user("2"))
        assert service.creates[2].connection == 3
    assert (result.attempts, result.reuse) == (1, "rotated")
    assert talk.clock.slept_s == []


async def test_a_connection_that_was_opened_ahead_and_aged_is_closed_unused() -> None:
    async with (
        running(replies(ONE, TWO), Peer.left, replies(THREE)) as service,
        talking(service.base_url) as talk,
    ):
        await talk.call(make.user("1"))
        talk.clock.jump(54 * 60 + 30)
        await talk.call(make.tool_output())
        await until_connected(talk)
        talk.clock.jump(8 * 3600)
        await talk.call(make.user("2"))
        assert service.creates[2].connection == 3
        async with asyncio.timeout(30):
            await service.peers[1].left()
        assert len(talk.events(ev.ConnectionOpened)) == len(service.handshakes)
    assert talk.told(ev.ConnectionClosed, "cause") == ["unused", "rotated", "session_closed"]


async def test_an_unused_spare_is_closed_with_the_session() -> None:
    async with running(replies(ONE, TWO), Peer.left) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        talk.clock.jump(54 * 60 + 30)
        await talk.call(make.tool_output())
        await until_connected(talk)
        await talk.session.close()
    assert talk.told(ev.ConnectionClosed, "cause") == ["unused", "session_closed"]


async def test_a_rotation_that_can_not_be_had_keeps_the_old_connection() -> None:
    async with (
        running(replies(ONE, TWO, THREE), Refuse(503), Refuse(500)) as service,
        talking(service.base_url) as talk,
    ):
        await talk.call(make.user("1"))
        talk.clock.jump(56 * 60)
        result = await talk.call(make.tool_output())
        assert service.creates[1].connection == 1
        # The call's end tried to open one ahead, which failed as well; the next call tries itself.
        await until_connected(talk)
    assert result.reuse == "reused"


async def test_over_http_every_call_has_the_whole_input() -> None:
    async with (
        running(posts=[Post(ONE), Post(TWO)]) as service,
        talking(service.base_url, transport="http") as talk,
    ):
        await talk.call(make.user("1"))
        result = await talk.call(make.tool_output())
        assert [create.input for create in service.posts] == [
            [make.user("1")],
            [make.user("1"), make.reasoning(), make.tool_call(), make.tool_output()],
        ]
        for create in service.posts:
            assert create.previous is None
            assert (create.body["store"], create.body["stream"]) == (False, True)
            assert create.body["include"] == ["reasoning.encrypted_content"]
        assert service.handshakes == []
        assert service.connections == 1
        assert talk.told(ev.CallSent, "bytes_up") == [create.size for create in service.posts]
    assert [json.loads(item) for item in result.items] == [make.message("two")]
    assert talk.told(ev.CallSent, "reuse") == ["first", "full_resend"]
    assert talk.told(ev.ConnectionOpened, "cause") == ["http"]


async def test_each_tcp_connection_of_the_pool_is_told_once() -> None:
    """So that `connections` of the summary is right over HTTP: the second POST finds the first's connection gone."""
    posts = [Post(ONE, cut=True), Post(TWO), Post(THREE)]
    async with running(posts=posts) as service, talking(service.base_url, transport="http") as talk:
        await talk.call(make.user("1"))
        await talk.call(make.tool_output())
        await talk.call(make.user("2"))
        assert service.connections == 2
    rollup = Rollup().fold_all(talk.sink.events)
    assert rollup.summary().connections == 2
    assert all(ms >= 0 for ms in talk.told(ev.ConnectionOpened, "handshake_ms"))


async def test_a_post_that_never_left_is_no_create() -> None:
    async with running(posts=[Post(ONE, cut=True)]) as service, talking(service.base_url, transport="http") as talk:
        await talk.call(make.user("1"))
        await service.stop_listening()
        with pytest.raises(ServiceUnreachable):
            await talk.call(make.tool_output())
    assert talk.told(ev.CallSent, "bytes_up") == [create.size for create in service.posts]
    assert talk.told(ev.CallCompleted, "status") == ["completed", "failed"]


async def test_there_is_nothing_to_warm_over_http() -> None:
    async with running() as service, talking(service.base_url, transport="http") as talk:
        assert not await talk.session.prewarm(talk.request())


async def test_a_post_that_breaks_off_is_void_and_repeated() -> None:
    """ollama/ollama#17118: a stream without a terminal event is no answer."""
    posts = [Post(TWO[:5], cut=True), Post(TWO[:5]), Post(TWO)]
    async with running(posts=posts) as service, talking(service.base_url, transport="http") as talk:
        result = await talk.call(make.user("1"))
    assert result.attempts == 3
    assert [item.cause for item in talk.seen if isinstance(item, Restarted)] == ["connection_lost"] * 2
    assert [item.number for item in talk.seen if isinstance(item, Reconnecting)] == [1, 2]


async def test_a_busy_service_over_http_is_tried_again_as_it_asks() -> None:
    busy = Post(status=429, body=make.error("rate_limit_exceeded"), headers={"Retry-After": "3"})
    async with running(posts=[busy, Post(TWO)]) as service, talking(service.base_url, transport="http") as talk:
        await talk.call(make.user("1"))
    assert talk.clock.slept_s == [3.0]


@pytest.mark.parametrize(
    ("post", "error"),
    [
        (Post(status=401), AuthError),
        (Post(status=400, body=make.error("invalid_prompt")), ServiceError),
    ],
)
async def test_what_a_service_refuses_for_good_is_raised(post: Post, error: type[Exception]) -> None:
    async with running(posts=[post]) as service, talking(service.base_url, transport="http") as talk:
        with pytest.raises(error):
            await talk.call(make.user("1"))
    assert talk.clock.slept_s == []


async def test_an_answer_that_is_no_event_stream_is_a_protocol_error_in_the_end() -> None:
    posts = [Post(body={"object": "response"})] * 2
    async with (
        running(posts=posts) as service,
        talking(service.base_url, transport="http", reconnect_limit=1) as talk,
    ):
        with pytest.raises(ProtocolError):
            await talk.call(make.user("1"))


async def test_failed_responses_and_errors_over_http_are_the_same_as_on_a_socket() -> None:
    posts = [Post([make.error("server_error", status=None)]), Post(make.failed("resp_1", "server_error")), Post(TWO)]
    async with running(posts=posts) as service, talking(service.base_url, transport="http") as talk:
        result = await talk.call(make.user("1"))
    assert result.attempts == 3
