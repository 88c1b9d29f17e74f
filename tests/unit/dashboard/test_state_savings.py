"""What the open socket saved, computed, held against what the same rollout really sends over HTTP."""

from __future__ import annotations

import json
from typing import Any

from agent_core.telemetry import events as ev
from dashboard.state.fold import State
from dashboard.state.savings import Savings
from tests.support.model import events as make
from tests.support.model.faults import FaultyService
from tests.support.model.scripted_service import running
from tests.support.model.session import Talk, talking
from tests.support.telemetry.recorded_feed import recorded_feed
from tests.support.telemetry.scene import Scene

CALLS = 12


async def rollout(talk: Talk) -> State:
    talk.say(make.user("fix it"))
    for _ in range(CALLS):
        result = await talk.call()
        calls: list[dict[str, Any]] = [
            item for raw in result.items if (item := json.loads(raw))["type"] == "function_call"
        ]
        if not calls:
            break
        talk.say(*(make.tool_output(call["call_id"], call["arguments"] * 20) for call in calls))
    return State().apply_all(talk.sink.events)


async def test_the_bytes_computed_for_http_are_those_a_real_http_run_sends() -> None:
    service = FaultyService(seed=0, calls=CALLS, odds=0)
    async with running(then=service.socket) as scripted, talking(scripted.base_url, transport="websocket") as talk:
        socket = await rollout(talk)
    service = FaultyService(seed=0, calls=CALLS, odds=0)
    async with running(then_post=service.post) as scripted, talking(scripted.base_url, transport="http") as talk:
        http = await rollout(talk)
        really_sent = sum(create.size for create in scripted.posts)
    assert socket.savings.total.calls == http.savings.total.calls == CALLS
    assert http.savings.total.bytes_up == really_sent
    assert http.savings.total.bytes_saved == 0, "HTTP saves nothing"
    saved = socket.savings.total.bytes_saved
    assert saved is not None
    computed = socket.savings.total.bytes_up + saved
    assert abs(computed - really_sent) <= 0.02 * really_sent
    assert saved > 0.5 * really_sent
    assert socket.savings.total.reused == CALLS - 1


def test_a_warm_up_and_a_repeated_attempt_are_charged_to_the_socket() -> None:
    scene = Scene()
    scene.send("warm", warmup=True, reuse="first", bytes_up=900, bytes_full=900)
    scene.start_turn()
    scene.send("a", reuse="reused", bytes_up=100, bytes_full=1000)
    scene.send("a", reuse="not_found", attempt=2, bytes_up=1000, bytes_full=1000)
    made = State().apply_all(scene.events).savings
    assert made.total == Savings(calls=1, reused=0, bytes_up=2000, bytes_full=1000)
    assert made.total.bytes_saved == -1000
    assert made.sessions["sess_1"] == made.total


def test_kept_tokens_are_those_of_the_call_before_on_the_same_chain() -> None:
    scene = Scene()
    scene.start_turn()
    scene.call(sent={"reuse": "first"}, input_tokens=1000, output_tokens=50)
    scene.call(sent={"reuse": "reused"}, input_tokens=1200, output_tokens=10)
    scene.call(sent={"reuse": "full_resend"}, input_tokens=1300, output_tokens=10)
    scene.call(sent={"reuse": "reused", "lane": "other"}, input_tokens=500, output_tokens=10)
    scene.call(sent={"reuse": "reused"}, input_tokens=900, output_tokens=10)
    total = State().apply_all(scene.events).savings.total
    assert total.tokens_in == 1000 + 1200 + 1300 + 500 + 900
    assert total.tokens_kept == 1050 + 900, "the other lane had nothing; never more than the call's own input"


def test_without_the_weight_of_the_whole_input_nothing_is_claimed() -> None:
    scene = Scene()
    scene.start_turn()
    scene.call(sent={"reuse": "first"})
    total = State().apply_all(scene.events).savings.total
    assert (total.bytes_saved, total.bytes_share) == (None, None)
    assert Savings().bytes_saved is None


def test_sums_stay_when_calls_are_forgotten() -> None:
    feed = recorded_feed()
    whole = State().apply_all(feed)
    small = State(max_turns=3).apply_all(feed)
    assert small.savings.total == whole.savings.total
    assert len(small.rollup.turns) == 4, "three that ended, one that runs"
    sent = [event for event in feed if isinstance(event, ev.CallSent)]
    assert whole.savings.total.bytes_up == sum(event.bytes_up for event in sent)
