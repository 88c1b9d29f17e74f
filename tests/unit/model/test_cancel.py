"""A cancelled call: the service is told or drained, the connection is clean or closed, and nothing stale is
answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_core.errors import ConnectionLost, UsageError
from agent_core.model.port import CallItem, CallRequest, CallResult, Restarted, TextDelta
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, Post, replies, running
from tests.support.model.session import Talk, talking

LONG = make.ladder("resp_1", make.message("a long answer that is not waited for"))
BEGUN = LONG[:5]
NEXT = make.ladder("resp_2", make.message("hello"))
CANCELLED = {"type": "response.incomplete", "response": make.response("resp_1", "cancelled")}


async def run_until_delta(talk: Talk) -> None:
    """Start a call and leave it at its first delta."""
    talk.say(make.user("tell me much"))
    async with contextlib.aclosing(talk.session.call(talk.request())) as stream:
        async for item in stream:
            if isinstance(item, TextDelta):
                break


def texts(talk: Talk) -> str:
    return "".join(item.text for item in talk.seen if isinstance(item, TextDelta))


def own_service(events_after_cancel: list[dict[str, Any]]) -> Any:
    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.next("response.cancel")
        await peer.send(*events_after_cancel)
        await peer.answer(NEXT)
        await peer.left()

    return script


async def test_a_service_of_ours_is_told_and_the_socket_serves_the_next_call() -> None:
    script = own_service([LONG[5], CANCELLED | {"sequence_number": 6}])
    async with running(script) as service, talking(service.base_url, own_service=True) as talk:
        await run_until_delta(talk)
        result = await talk.call(make.user("never mind"))
        assert len(service.handshakes) == 1
        assert service.creates[1].previous is None
        assert service.creates[1].input == [make.user("tell me much"), make.user("never mind")]
    assert (result.response_id, texts(talk)) == ("resp_2", "hello")
    assert not [item for item in talk.seen if isinstance(item, Restarted)]
    assert talk.told(ev.CallCompleted, "status") == ["cancelled", "completed"]
    assert talk.told(ev.CallSent, "reuse") == ["first", "full_resend"]


async def test_a_late_end_of_the_cancelled_response_never_answers_the_next_call() -> None:
    """The end comes twice, the second time after the next request was sent."""

    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.next("response.cancel")
        await peer.send(CANCELLED)
        await peer.next()
        await peer.send(CANCELLED, *NEXT)
        await peer.left()

    async with running(script) as service, talking(service.base_url, own_service=True) as talk:
        await run_until_delta(talk)
        result = await talk.call(make.user("never mind"))
    assert (result.response_id, result.attempts) == ("resp_2", 1)


async def test_a_response_that_ends_while_it_is_being_cancelled_costs_the_socket() -> None:
    """An answer to the cancel may still come, and could be taken for the answer to the next request."""
    async with (
        running(own_service_crossing, replies(NEXT)) as service,
        talking(service.base_url, own_service=True) as talk,
    ):
        await run_until_delta(talk)
        result = await talk.call(make.user("never mind"))
        assert len(service.handshakes) == 2
    assert result.reuse == "reconnected"


async def own_service_crossing(peer: Peer) -> None:
    await peer.next()
    await peer.send(*BEGUN)
    await peer.next("response.cancel")
    await peer.send(*LONG[5:])
    await peer.left()


async def test_a_cancel_before_any_event_waits_for_the_answer_to_the_request() -> None:
    async def script(peer: Peer) -> None:
        await peer.next()
        started.set()
        await peer.next("response.cancel")
        await peer.send(*BEGUN, CANCELLED)
        await peer.answer(NEXT)
        await peer.left()

    started = asyncio.Event()
    async with running(script) as service, talking(service.base_url, own_service=True) as talk:
        task = asyncio.create_task(talk.call(make.user("tell me much")))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        result = await talk.call(make.user("never mind"))
        assert len(service.handshakes) == 1
    assert result.response_id == "resp_2"


async def test_another_service_is_drained_to_the_end_and_the_socket_kept() -> None:
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await go.wait()
        await peer.send(*LONG[5:])
        await peer.answer(NEXT)
        await peer.left()

    async with running(script) as service, talking(service.base_url, drain_timeout_s=10) as talk:
        await run_until_delta(talk)
        following = asyncio.create_task(talk.call(make.user("never mind")))
        await asyncio.sleep(0)
        go.set()
        result = await following
        assert len(service.handshakes) == 1
    assert (result.response_id, texts(talk)) == ("resp_2", "hello")


async def test_a_response_that_runs_on_costs_the_socket_in_the_end() -> None:
    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.left()

    async with (
        running(script, replies(NEXT)) as service,
        talking(service.base_url, drain_timeout_s=0.02) as talk,
    ):
        await run_until_delta(talk)
        result = await talk.call(make.user("never mind"))
        assert len(service.handshakes) == 2
    assert result.reuse == "reconnected"
    assert talk.told(ev.ConnectionClosed, "cause")[0] == "cancelled"
    assert talk.clock.slept_s == []


async def test_a_service_of_ours_that_does_not_stop_costs_the_socket_too() -> None:
    async def deaf(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.next("response.cancel")
        await peer.left()

    async with (
        running(deaf, replies(NEXT)) as service,
        talking(service.base_url, own_service=True, cancel_timeout_s=0.02) as talk,
    ):
        await run_until_delta(talk)
        assert (await talk.call(make.user("never mind"))).response_id == "resp_2"


async def test_a_socket_that_dies_while_it_is_drained_is_replaced() -> None:
    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.next("response.cancel")
        await peer.reset()

    async with running(script, replies(NEXT)) as service, talking(service.base_url, own_service=True) as talk:
        await run_until_delta(talk)
        assert (await talk.call(make.user("never mind"))).reuse == "reconnected"


@asynccontextmanager
async def started_call(talk: Talk, request: CallRequest) -> AsyncIterator[asyncio.Task[list[CallItem]]]:
    async def run() -> list[CallItem]:
        async with contextlib.aclosing(talk.session.call(request)) as stream:
            return [item async for item in stream]

    task = asyncio.create_task(run())
    yield task
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancel_during_the_handshake_leaves_nothing_behind() -> None:
    knocked = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        knocked.set()
        while await reader.read(1 << 16):
            pass
        writer.close()
        left.set()

    left = asyncio.Event()
    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with asyncio.timeout(20), talking(base_url) as talk:
        async with started_call(talk, talk.request()) as task:
            await knocked.wait()
            task.cancel()
        await left.wait()
        assert talk.told(ev.CallCompleted, "status") == ["cancelled"]
        assert talk.events(ev.CallSent) == []
    server.close()


async def test_a_cancel_during_a_pause_between_retries_ends_the_call() -> None:
    paused = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.drop()

    async with running(script) as service, talking(service.base_url) as talk:

        async def long_sleep(delay_s: float) -> None:
            paused.set()
            await asyncio.Event().wait()

        talk.clock.sleep = long_sleep  # type: ignore[method-assign]
        async with started_call(talk, talk.request()) as task:
            await paused.wait()
            task.cancel()
    assert talk.told(ev.CallCompleted, "status") == ["cancelled"]


async def test_a_cancelled_post_is_closed_and_the_next_goes_through() -> None:
    posts = [Post(BEGUN, hold=True), Post(NEXT)]
    async with running(posts=posts) as service, talking(service.base_url, transport="http") as talk:
        await run_until_delta(talk)
        assert (await talk.call(make.user("never mind"))).response_id == "resp_2"
    assert talk.told(ev.CallCompleted, "status") == ["cancelled", "completed"]


async def test_leaving_after_the_result_is_no_cancel() -> None:
    async with (
        running(replies(NEXT, make.ladder("resp_3", make.message("b")))) as service,
        talking(service.base_url) as talk,
    ):
        talk.say(make.user("1"))
        async with contextlib.aclosing(talk.session.call(talk.request())) as stream:
            async for item in stream:
                if isinstance(item, CallResult):
                    talk.history.extend(item.items)
                    break
        await talk.call(make.user("2"))
        assert service.creates[1].previous == "resp_2"
    assert talk.told(ev.CallCompleted, "status") == ["completed", "completed"]


async def test_a_cancelled_warm_up_leaves_the_connection_fit() -> None:
    async def script(peer: Peer) -> None:
        await peer.next()
        asked.set()
        await peer.next("response.cancel")
        await peer.send(*make.response_started("warm_1"))
        await peer.send({"type": "response.incomplete", "response": make.response("warm_1", "cancelled")})
        await peer.answer(NEXT)
        await peer.left()

    asked = asyncio.Event()
    async with running(script) as service, talking(service.base_url, own_service=True) as talk:
        warming = asyncio.create_task(talk.session.prewarm(talk.request()))
        await asked.wait()
        warming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await warming
        assert (await talk.call(make.user("1"))).response_id == "resp_2"
        assert len(service.handshakes) == 1


async def test_an_error_while_a_response_is_being_cancelled_costs_the_socket() -> None:
    """It may be the answer to the cancel, of a service that knows none and streams on."""

    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.next("response.cancel")
        await peer.send(make.error("unsupported_event_type"), *LONG[5:])
        await peer.left()

    async with running(script, replies(NEXT)) as service, talking(service.base_url, own_service=True) as talk:
        await run_until_delta(talk)
        result = await talk.call(make.user("never mind"))
        assert len(service.handshakes) == 2
    assert (result.response_id, result.attempts) == ("resp_2", 1)


async def test_closing_the_session_amid_a_call_ends_it_without_another_try() -> None:
    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.left()

    async with running(script) as service, talking(service.base_url) as talk:
        with pytest.raises(ConnectionLost):
            async with contextlib.aclosing(talk.session.call(talk.request())) as stream:
                async for item in stream:
                    if isinstance(item, TextDelta):
                        await talk.session.close()
        assert len(service.handshakes) == 1
    assert talk.told(ev.CallCompleted, "status") == ["failed"]


async def test_closing_the_session_amid_a_drain_is_quick_and_final() -> None:
    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*BEGUN)
        await peer.left()

    async with running(script) as service, talking(service.base_url, drain_timeout_s=60) as talk:
        await run_until_delta(talk)
        async with asyncio.timeout(30):
            await talk.session.close()
        with pytest.raises(UsageError):
            await talk.call(make.user("more"))
