"""Faults of the way: what is tried again, how, and what is told about it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent_core.errors import AuthError, ServiceError, ServiceUnreachable
from agent_core.model.port import CallStarted, Reconnecting, Restarted, TextDelta
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, Refuse, ScriptedService, SocketScript, replies, running
from tests.support.model.session import Talk, talking

FIRST = make.ladder("resp_1", make.reasoning(), make.tool_call())
SECOND = make.ladder("resp_2", make.message("hello"))
ANSWER = [make.message("hello")]


def started(talk: Talk) -> list[CallStarted]:
    return [item for item in talk.seen if isinstance(item, CallStarted)]


def seen(talk: Talk, kind: type[Any]) -> list[Any]:
    return [item for item in talk.seen if isinstance(item, kind)]


def breaking(how: Callable[[Peer], Awaitable[None]]) -> SocketScript:
    """A connection whose first call goes well and whose second meets `how`."""

    async def script(peer: Peer) -> None:
        await peer.answer(FIRST)
        await peer.next()
        await how(peer)

    return script


async def two_calls(service: ScriptedService, talk: Talk) -> None:
    """The second call meets the fault; whatever it is, the answer and the full resend are these."""
    await talk.call(make.user("fix it"))
    result = await talk.call(make.tool_output())
    assert [json.loads(item) for item in result.items] == ANSWER
    resent = service.creates[-1]
    assert resent.previous is None
    assert resent.input == [make.user("fix it"), make.reasoning(), make.tool_call(), make.tool_output()]


async def close_before_any_event(peer: Peer) -> None:
    await peer.close(1011)


async def drop_before_any_event(peer: Peer) -> None:
    await peer.drop()


async def reset_before_any_event(peer: Peer) -> None:
    await peer.reset()


@pytest.mark.parametrize("how", [close_before_any_event, drop_before_any_event, reset_before_any_event])
async def test_a_socket_that_ends_before_any_event_is_replaced(how: Callable[[Peer], Awaitable[None]]) -> None:
    """openai/openai-agents-python#2558: "closed before any response events"."""
    async with running(breaking(how), replies(SECOND)) as service, talking(service.base_url) as talk:
        await two_calls(service, talk)
    assert [(item.attempt, item.reuse) for item in started(talk)] == [(1, "reused"), (2, "reconnected")]
    assert seen(talk, Restarted) == []
    assert seen(talk, Reconnecting) == [Reconnecting(1, 5, 0.2, "connection_lost")]
    assert talk.told(ev.ConnectionReconnected, "cause") == ["connection_lost"]
    assert len(talk.events(ev.ConnectionOpened)) == 2
    assert talk.told(ev.ConnectionClosed, "cause")[0] == "connection_lost"
    assert talk.told(ev.CallCompleted, "status") == ["completed", "completed"]


BEGUN = SECOND[:5]
"""Up to the first delta."""


async def close_amid(peer: Peer) -> None:
    await peer.send(*BEGUN)
    await peer.close(1012)


async def drop_amid(peer: Peer) -> None:
    await peer.send(*BEGUN)
    await peer.drop()


async def reset_amid(peer: Peer) -> None:
    # A reset may overtake what was sent before it, so wait for the client to have it: it answers the ping first.
    await peer.send(*BEGUN)
    await peer.settle()
    await peer.reset()


async def half_a_frame(peer: Peer) -> None:
    await peer.send(*BEGUN)
    await peer.send_half(SECOND[5])
    await peer.drop()


async def garbage(peer: Peer) -> None:
    await peer.send(*BEGUN)
    await peer.send_text("event: response.output_text.delta")
    await peer.left()


async def no_object(peer: Peer) -> None:
    await peer.send(*BEGUN)
    await peer.send_text("[1]")
    await peer.left()


@pytest.mark.parametrize(
    "how",
    [
        close_amid,
        drop_amid,
        reset_amid,
        half_a_frame,
        garbage,
        no_object,
    ],
)
async def test_a_response_that_breaks_off_is_void_and_asked_for_again_in_full(
    how: Callable[[Peer], Awaitable[None]],
) -> None:
    async with running(breaking(how), replies(SECOND)) as service, talking(service.base_url) as talk:
        await two_calls(service, talk)
    assert [(item.attempt, item.reuse) for item in started(talk)] == [(1, "reused"), (2, "reconnected")]
    assert len(seen(talk, Restarted)) == 1
    restart = talk.seen.index(seen(talk, Restarted)[0])
    assert "".join(item.text for item in talk.seen[restart:] if isinstance(item, TextDelta)) == "hello"
    assert len(talk.events(ev.ConnectionReconnected)) == 1


async def test_silence_beyond_the_limit_is_a_fault_although_pings_are_answered() -> None:
    async def stall(peer: Peer) -> None:
        await peer.send(*BEGUN)
        await peer.left()

    async with (
        running(breaking(stall), replies(SECOND)) as service,
        talking(service.base_url, silence_limit_s=0.5) as talk,
    ):
        await two_calls(service, talk)


async def test_a_socket_found_dead_before_a_send_costs_no_attempt() -> None:
    async def leave(peer: Peer) -> None:
        await peer.answer(FIRST)
        await peer.close(1001)

    async with running(leave, replies(SECOND)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("fix it"))
        await talk.until_lost()
        result = await talk.call(make.tool_output())
    assert (result.attempts, result.reuse) == (1, "reconnected")
    assert talk.clock.slept_s == []
    assert seen(talk, Reconnecting) == []


async def test_a_refused_key_ends_the_call_at_once() -> None:
    async with running(Refuse(401)) as service, talking(service.base_url) as talk:
        with pytest.raises(AuthError):
            await talk.call(make.user("1"))
    assert talk.clock.slept_s == []
    assert talk.events(ev.CallSent) == []
    assert talk.told(ev.CallCompleted, "error_code") == ["auth_refused"]


async def test_a_service_that_never_answered_is_unreachable_at_once() -> None:
    async with running() as service:
        base_url = service.base_url
    async with talking(base_url) as talk:
        with pytest.raises(ServiceUnreachable) as caught:
            await talk.call(make.user("1"))
    assert caught.value.hint
    assert talk.clock.slept_s == []


async def test_a_service_that_goes_away_is_waited_for_within_bounds() -> None:
    async with running(replies(FIRST)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        await service.stop_listening()
        await talk.until_lost()
        with pytest.raises(ServiceUnreachable):
            await talk.call(make.tool_output())
    assert len(talk.clock.slept_s) == 5


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "error", "error": {"type": "server_error", "code": None, "message": "sorry"}},
        {"type": "error", "error": {"type": "server_error", "code": "server_error", "message": "sorry"}, "status": 500},
        {"type": "error", "code": "server_is_overloaded", "message": "sorry", "param": None},
        {"type": "error", "status_code": 503, "message": "sorry"},
        {"type": "error", "status": 503, "error": {"message": "sorry"}},
    ],
)
async def test_an_error_of_the_server_is_tried_again_on_the_same_socket(frame: dict[str, Any]) -> None:
    """openai/openai-agents-python#3990 (code null, no status ended the run); openclaw/openclaw#122727 (flat
    forms)."""
    async with running(replies(FIRST, [frame], SECOND)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
        result = await talk.call(make.tool_output())
        assert len(service.handshakes) == 1
        assert service.creates[2].previous == "resp_1"
    assert (result.attempts, result.reuse) == (2, "reused")
    assert talk.clock.slept_s == pytest.approx([0.2])
    assert seen(talk, Restarted) == []


@pytest.mark.parametrize(
    ("frame", "code", "message"),
    [
        (make.error("invalid_prompt", message="not this"), "invalid_prompt", "not this"),
        ({"type": "error", "code": "invalid_prompt", "message": "not this"}, "invalid_prompt", "not this"),
        ({"type": "error", "error": {"code": "odd", "message": "m"}, "status_code": 400}, "odd", "m"),
    ],
)
async def test_nested_and_flat_errors_keep_their_code(frame: dict[str, Any], code: str, message: str) -> None:
    """openclaw/openclaw#122727: a parser of flat errors lost the nested code and status."""
    async with running(replies([frame])) as service, talking(service.base_url) as talk:
        with pytest.raises(ServiceError) as caught:
            await talk.call(make.user("1"))
    assert (caught.value.code, caught.value.message) == (code, message)


async def test_an_error_amid_a_response_voids_it_and_keeps_the_socket() -> None:
    amid = [*BEGUN, make.error("server_error", status=None) | {"sequence_number": 5}]
    third = make.ladder("resp_3", make.message("hello"))
    async with running(replies(FIRST, amid, third)) as service, talking(service.base_url) as talk:
        await two_calls(service, talk)
        assert len(service.handshakes) == 1
    assert [item.reuse for item in started(talk)] == ["reused", "full_resend"]
    assert seen(talk, Restarted) == [Restarted("server_error")]


async def test_an_error_that_is_followed_by_a_failed_response_never_answers_the_next_call() -> None:
    """Both for one response: the second must not be taken for the answer to what is sent next."""
    tail = make.failed("resp_2", "server_error")[-1]
    amid = [*BEGUN, make.error("server_error", status=None) | {"sequence_number": 5}, tail]
    third = make.ladder("resp_3", make.message("hello"))
    async with running(replies(FIRST, amid, third)) as service, talking(service.base_url) as talk:
        await two_calls(service, talk)
        assert len(service.handshakes) == 1
    assert [item.attempt for item in started(talk)] == [1, 2]


@pytest.mark.parametrize("code", ["server_error", "rate_limit_exceeded", "server_is_overloaded"])
async def test_a_passing_failure_of_a_response_is_tried_again(code: str) -> None:
    """earendil-works/pi#7444: transient response.failed was not retried."""
    async with (
        running(replies(FIRST, make.failed("resp_x", code), SECOND)) as service,
        talking(service.base_url) as talk,
    ):
        await two_calls(service, talk)
        assert len(service.handshakes) == 1
    assert seen(talk, Restarted) == [Restarted(code)]


async def test_retry_after_is_waited_for() -> None:
    slow = make.error("rate_limit_exceeded", status=429, headers={"retry-after": "7"})
    async with running(replies([slow], FIRST)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("1"))
    assert talk.clock.slept_s == [7.0]


async def test_an_overload_that_stays_ends_the_call_after_the_last_retry() -> None:
    busy = [make.error("server_is_overloaded", status=503)]
    async with running(replies(*[busy] * 6)) as service, talking(service.base_url) as talk:
        with pytest.raises(ServiceError) as caught:
            await talk.call(make.user("1"))
        assert len(service.handshakes) == 1
    assert caught.value.code == "server_is_overloaded"
    assert len(talk.clock.slept_s) == 5
    assert talk.told(ev.CallCompleted, "status") == ["failed"]


async def test_the_age_limit_as_an_answer_costs_a_new_socket_and_nothing_else() -> None:
    """earendil-works/pi#6268: the 60-minute limit ended the task."""
    limit = [make.error("websocket_connection_limit_reached")]
    async with running(replies(FIRST, limit), replies(SECOND)) as service, talking(service.base_url) as talk:
        await two_calls(service, talk)
    assert talk.clock.slept_s == [0.0]
    assert talk.told(ev.ConnectionReconnected, "cause") == ["websocket_connection_limit_reached"]
    assert [item.reuse for item in started(talk)] == ["reused", "reconnected"]


async def test_the_age_limit_on_an_idle_socket_is_seen_before_the_next_send() -> None:
    limit = [*FIRST, make.error("websocket_connection_limit_reached")]
    async with running(replies(limit), replies(SECOND)) as service, talking(service.base_url) as talk:
        await talk.call(make.user("fix it"))
        await talk.until_waiting()
        result = await talk.call(make.tool_output())
        assert len(service.creates) == 2
    assert (result.attempts, result.reuse) == (1, "reconnected")


async def test_text_that_is_no_unicode_costs_nothing() -> None:
    """Bytes that are no UTF-8 in an item, which is kept as it came, and a character in two halves."""
    done = next(event for event in SECOND if event["type"] == "response.output_item.done")
    at = SECOND.index(done)
    delta = next(event for event in SECOND if event["type"] == "response.output_text.delta")

    async def script(peer: Peer) -> None:
        await peer.answer(FIRST)
        await peer.next()
        await peer.send(*SECOND[: SECOND.index(delta)])
        for half in ("\\ud83d", "\\ude00"):
            await peer.send_bytes(json.dumps(delta | {"delta": "#"}).encode().replace(b"#", half.encode()))
        await peer.send_bytes(json.dumps(done).encode().replace(b"hello", b"he\xff\\ud83d"))
        await peer.send(*SECOND[at + 1 : -1], SECOND[-1] | {"response": make.response("resp_2", "completed")})
        await peer.left()

    async with running(script) as service, talking(service.base_url) as talk:
        await talk.call(make.user("fix it"))
        result = await talk.call(make.tool_output())
        service.violations.clear()
    assert [json.loads(item)["content"][0]["text"] for item in result.items] == ["he\ufffd\ufffd"]
    assert "".join(item.text for item in talk.seen if isinstance(item, TextDelta)) == "\U0001f600"
    assert seen(talk, Restarted) == []
