"""Whole rollouts: with faults of every kind, and cancelled at every point. The conversation ends the same."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from typing import Any

import pytest

from agent_core.model.port import CallResult, Model
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.faults import POST_FAULTS, SOCKET_FAULTS, FaultyService
from tests.support.model.scripted_service import Peer, Refuse, running
from tests.support.model.session import Talk, talking

CALLS = 20
SEEDS = 25


async def rollout(talk: Talk) -> list[dict[str, Any]]:
    """Run until the model asks for nothing more; the conversation without what differs from run to run."""
    talk.say(make.user("fix it"))
    for _ in range(CALLS):
        result = await talk.call()
        calls = [item for raw in result.items if (item := json.loads(raw))["type"] == "function_call"]
        if not calls:
            break
        talk.say(*(make.tool_output(call["call_id"], call["arguments"]) for call in calls))
    return [json.loads(raw) for raw in talk.history.raw(0)]


async def clean() -> list[dict[str, Any]]:
    service = FaultyService(seed=0, calls=CALLS, odds=0)
    async with running(then=service.socket) as scripted, talking(scripted.base_url) as talk:
        history = await rollout(talk)
        assert len(scripted.creates) == CALLS
        assert len(scripted.handshakes) == 1
        assert talk.told(ev.CallSent, "reuse") == ["first"] + ["reused"] * (CALLS - 1)
    return history


async def survive(seed: int) -> FaultyService:
    """One rollout over the faults of `seed`.

    Eight tries, since nine faults in a row are beyond what these seeds throw: a call that runs out of tries fails.
    Every fifth run begins over HTTP and comes back to WebSocket when its pauses have passed.
    """
    first = [Refuse(426)] if seed % 5 == 0 else []
    service = FaultyService(seed, CALLS, odds=0.3)
    async with (
        running(*first, then=service.socket, then_post=service.post) as scripted,
        talking(scripted.base_url, silence_limit_s=0.5, websocket_again_after_s=0.5, reconnect_limit=8) as talk,
    ):
        assert await rollout(talk) == await clean()
    assert service.faults.total() > 0
    assert talk.told(ev.CallCompleted, "status") == ["completed"] * CALLS
    return service


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_rollout_over_faults_is_the_rollout_without_them(seed: int) -> None:
    await survive(seed)


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_five_hundred_rollouts_over_faults() -> None:
    faults = Counter[str]()
    for seed in range(500):
        faults += (await survive(seed)).faults
    print(f"500 rollouts of {CALLS} calls, {faults.total()} faults injected: {dict(sorted(faults.items()))}")


async def test_the_faults_are_of_every_kind() -> None:
    """What the seeds above are worth: together they throw each fault."""
    thrown: set[str] = set()
    for seed in range(SEEDS):
        die = FaultyService(seed, CALLS, odds=0.3)
        for _ in range(2 * CALLS):
            die._draw(SOCKET_FAULTS)
        for _ in range(CALLS):
            die._draw(POST_FAULTS)
        thrown |= set(die.faults)
    assert thrown == {*SOCKET_FAULTS, *POST_FAULTS}


LADDER = make.ladder("resp_1", make.reasoning(), make.tool_call(), make.message("a long answer"))
END = len(LADDER) - 1


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("at", range(END))
async def test_a_cancel_after_any_event_leaves_the_next_call_clean(at: int, own: bool) -> None:
    reached = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.next()
        await peer.send(*LADDER[:at])
        await peer.settle()
        reached.set()
        if own:
            await peer.next("response.cancel")
            stopped = {"type": "response.incomplete", "response": make.response("resp_1", "cancelled")}
            await peer.send(*(make.response_started("resp_1")[:1] if at == 0 else []), stopped)
        else:
            await peer.send(*LADDER[at:])
        await peer.answer(make.ladder("resp_2", make.message("hello")))
        await peer.left()

    async with running(script) as service, talking(service.base_url, own_service=own, drain_timeout_s=10) as talk:
        talk.say(make.user("1"))

        async def doomed() -> None:
            async with contextlib.aclosing(talk.session.call(talk.request())) as stream:
                async for item in stream:
                    assert not isinstance(item, CallResult) or not own

        task = asyncio.create_task(doomed())
        await reached.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        result = await talk.call(make.user("2"))
        assert [json.loads(item) for item in result.items] == [make.message("hello")]
        assert len(service.handshakes) == 1
        assert service.creates[1].input == [make.user("1"), make.user("2")]


async def test_calls_of_one_session_run_one_after_the_other() -> None:
    service = FaultyService(seed=0, calls=1, odds=0)
    async with running(then=service.socket) as scripted, talking(scripted.base_url) as talk:
        talk.say(make.user("1"))
        port: Model = talk.session

        async def once() -> str:
            async with contextlib.aclosing(port.call(talk.request())) as stream:
                return [item.response_id async for item in stream if isinstance(item, CallResult)][0]

        assert sorted(await asyncio.gather(once(), once(), once())) == ["resp_1", "resp_2", "resp_3"]
        assert len(scripted.handshakes) == 1
