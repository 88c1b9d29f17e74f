"""The roll-up: groups, targets, bounds, clocks and the live rate."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.rollup.figures import Figures, Targets
from agent_core.telemetry.rollup.groups import MINUTE_NS
from agent_core.telemetry.rollup.rollup import Rollup
from tests.support.telemetry.scene import EPOCH_NS, MS, Scene


def folded(scene: Scene, **options: Any) -> Rollup:
    return Rollup(**options).fold_all(scene.events)


def test_figures_by_session_model_and_minute_add_up() -> None:
    first, second = Scene(session="one"), Scene(session="two", source="h000000-2-bbbbbb")
    second.wait(120_000)
    for scene, model in ((first, "gpt-5"), (second, "gpt-5-mini")):
        scene.start_turn()
        scene.call(sent={"model": model})
        scene.call(sent={"model": model})
        scene.finish_turn()
    rollup = Rollup().fold_all([*first.events, *second.events])
    groups = rollup.groups
    for parts in (groups.sessions, groups.models, groups.windows):
        assert len(parts) == 2
        merged = Figures()
        for part in parts.values():
            merged.merge(part)
        assert {name: getattr(merged, name) for name in Figures.COUNTS} == {
            name: getattr(groups.total, name) for name in Figures.COUNTS
        }
        assert merged.sketches == groups.total.sketches
        assert merged.stages_ns == groups.total.stages_ns
        assert merged.reuse == groups.total.reuse
    minute = EPOCH_NS // MINUTE_NS
    assert groups.window(minute * MINUTE_NS, (minute + 1) * MINUTE_NS).calls == 2
    assert groups.window(minute * MINUTE_NS, (minute + 3) * MINUTE_NS).calls == 4
    assert groups.window(0, minute * MINUTE_NS).calls == 0
    assert rollup.summary("one").calls == 2
    assert rollup.summary("nobody").calls == 0


def test_goodput_counts_turns_that_met_every_target() -> None:
    scene = Scene()
    targets = Targets(ttft_ms=20, overhead_ms=20, turn_ms=50)
    scene.start_turn()
    scene.call(ttft_ms=20, decode_ms=30)
    scene.finish_turn()
    scene.start_turn()
    scene.call(ttft_ms=21, decode_ms=29)
    scene.finish_turn()
    scene.start_turn()
    scene.call(ttft_ms=20, decode_ms=31)
    scene.finish_turn()
    scene.start_turn()
    scene.finish_turn("failed")
    total = folded(scene, targets=targets).groups.total
    assert (total.turns, total.turns_good, total.goodput) == (4, 1, 0.25)


def test_memory_is_bounded_and_sums_stay() -> None:
    scene = Scene()
    for _ in range(50):
        scene.start_turn()
        scene.call()
        scene.tool(1)
        scene.finish_turn()
    for number in range(30):
        scene.complete(scene.send(f"warm_{number}", warmup=True), 1)
    scene.start_turn()
    scene.call(response_id=None)
    scene.finish_turn()
    rollup = folded(scene, max_turns=10)
    assert len(rollup.turns) == 10
    assert len(rollup.calls) == 20
    assert len(rollup._book.by_response) <= 20
    assert rollup.summary().calls == 51
    assert rollup.summary().ttft_ms_p50 == pytest.approx(20, rel=0.01)
    assert rollup.groups.total.turns == 51


def test_names_from_outside_make_no_rows_without_end() -> None:
    rollup = Rollup(max_turns=10)
    for number in range(200):
        scene = Scene(source=f"h000000-{number}-aaaaaa", session=f"sess_{number}")
        scene.start_session()
        scene.open_connection(f"conn_{number}")
        scene.send(reuse="first")
        scene.emit(ev.ServiceCall(response_id=f"resp_{number}", stages_ms={}, new_tokens=1, reused_tokens=1))
        rollup.fold_all(scene.events)
    assert len(rollup.sessions) == len(rollup.connections) == len(rollup._service_first) == 10
    assert len(rollup._book.tallies) <= 12
    assert rollup.summary().connections == rollup.summary().calls == 200


def test_negative_durations_are_kept_as_reported_and_marked() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send()
    scene.emit(ev.CallFirstEvent(**scene.ids(call), latency_ms=-1))
    scene.complete(call, -3, -2, ttft_ms=-0.5, clamped=2)
    rollup = folded(scene)
    (row,) = rollup.call_rows()
    assert (row.latency_ms, row.duration_ms, row.inference_ms, row.ttft_ms) == (-1, -3, -2, -0.5)
    assert row.suspect == ["duration_ms", "ttft_ms", "inference_ms", "latency_ms"]
    assert (row.overhead_ms, rollup.clamped) == (None, 2)


def test_a_clock_set_back_moves_nothing_that_runs() -> None:
    scene = Scene()
    scene.start_session()
    scene.start_turn()
    scene.wait(1000)
    scene.clock.set_wall(EPOCH_NS - 3600 * 1_000_000_000)
    scene.call()
    scene.finish_turn()
    before = scene.turn
    later = scene.start_turn()
    scene.finish_turn()
    rollup = folded(scene)
    first = rollup.turns["sess_1_turn_1"]
    assert before == ""
    assert first.duration_ms == 1050.0
    assert first.ended_ns == first.started_ns + 1050 * MS
    assert rollup.axis.steps_back == 1
    assert rollup.turns[later].started_ns < first.started_ns, "a new turn is placed by the clock as it is now"


def test_live_rate_of_running_calls() -> None:
    scene = Scene()
    rollup = Rollup()
    scene.start_turn()
    call = scene.send()
    scene.wait(100)
    scene.delta(call, 100)
    for tick in range(1, 41):
        scene.wait(250)
        scene.emit(ev.CallProgress(**scene.ids(call), output_tokens_est=tick * 200, rate_est=800))
    rollup.fold_all(scene.events)
    now_ns = scene.clock.wall_ns()
    assert rollup.live_rate(now_ns) == pytest.approx(800, rel=0.06)
    assert rollup.live_rate(now_ns, "other") is None
    assert rollup.calls[call].output_tokens_est == 8000
    assert rollup.live_rate(now_ns + 10_000_000_000) == 0.0, "a stalled stream has rate 0"
    scene.complete(call, 10_100, 10_000, output_tokens=8011)
    rollup.fold_all(scene.events)
    assert rollup.live_rate(now_ns) is None, "nothing streams"
    assert rollup.calls[call].output_tokens == 8011


def test_a_call_that_never_ended_does_not_stream_for_ever() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send()
    scene.delta(call, 5)
    scene.emit(ev.CallProgress(**scene.ids(call), output_tokens_est=50, rate_est=800.0))
    scene.wait(100)
    rollup = folded(scene)
    assert rollup.live_rate(scene.clock.wall_ns()) == pytest.approx(500, rel=0.1)
    scene.finish_turn("failed")
    assert folded(scene).live_rate(scene.clock.wall_ns()) is None
    for _ in range(4):
        scene.start_turn()
        scene.finish_turn()
    assert folded(scene, max_turns=2).live_rate(scene.clock.wall_ns()) is None


def test_rows_are_plain_data() -> None:
    scene = Scene()
    scene.start_session("label")
    scene.start_turn()
    scene.call()
    scene.tool(1)
    scene.open_approval()
    scene.wait(9)
    scene.resolve_approval(waited_ms=9)
    rollup = folded(scene)
    for rows in (rollup.call_rows(), rollup.turns, rollup.sessions, rollup.connections, rollup.summary()):
        assert msgspec.json.decode(msgspec.json.encode(rows)) == msgspec.to_builtins(rows)
    assert rollup.sessions["sess_1"].project == "label"
    assert rollup.sessions["sess_1"].turns == [scene.turn]
    (approval,) = rollup.turns[scene.turn].approvals
    assert (approval.decision, approval.waited_ms) == ("allow", 9.0)


def test_an_event_without_stamps_is_never_taken_for_a_repeat() -> None:
    sink = ListSink()
    sink.emit(ev.CallSent(call="a", model="m", transport="http", attempt=1, reuse="first", input_items=1, bytes_up=1))
    sink.emit(ev.CallSent(call="b", model="m", transport="http", attempt=1, reuse="first", input_items=1, bytes_up=1))
    assert Rollup().fold_all(sink.events).summary().calls == 2
