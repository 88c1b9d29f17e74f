"""The roll-up: what each event does to the rows, the sums and the summary."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.figures import Figures, Targets
from agent_core.telemetry.groups import MINUTE_NS
from agent_core.telemetry.rollup import Rollup
from agent_core.telemetry.rows import CallRow
from agent_core.telemetry.summary import Summary
from tests.support.telemetry import EPOCH_NS, MS, Scene


def folded(scene: Scene, **options: Any) -> Rollup:
    return Rollup(**options).fold_all(scene.events)


def only_call(scene: Scene) -> CallRow:
    (row,) = folded(scene).call_rows()
    return row


def test_a_call_tells_its_whole_life() -> None:
    scene = Scene()
    scene.start_session()
    scene.start_turn()
    call = scene.send(reuse="first", input_items=3, bytes_up=900, bytes_full=900)
    scene.emit(ev.CallFirstEvent(**scene.ids(call), latency_ms=4.0))
    scene.wait(20)
    scene.delta(call, 20)
    scene.wait(30)
    scene.complete(
        call, 50, 30, input_tokens=1000, cached_tokens=800, output_tokens=31, reasoning_tokens=0, deltas=9,
        bytes_down=4000, finish_reason="stop",
    )  # fmt: skip
    scene.tool(410)
    row = only_call(scene)
    assert (row.number, row.model, row.transport, row.reuse, row.status) == (
        1,
        "gpt-5",
        "websocket",
        "first",
        "completed",
    )
    assert (row.latency_ms, row.ttft_ms, row.visible_ttft_ms) == (4.0, 20.0, 20.0)
    assert (row.duration_ms, row.inference_ms, row.overhead_ms, row.tools_ms) == (50.0, 30.0, 20.0, 410.0)
    assert (row.input_tokens, row.cached_tokens, row.output_tokens) == (1000, 800, 31)
    assert row.cache_ratio == 0.8
    assert row.e2e_rate == pytest.approx(620)
    assert row.tpot_ms == pytest.approx(1.0)
    assert row.rate == row.decode_rate == pytest.approx(1000)
    assert (row.bytes_up, row.bytes_saved, row.bytes_down) == (900, 0, 4000)
    assert row.sent_ns == scene.events[2].mono_ns + EPOCH_NS - 1_000_000_000
    assert row.ended_ns == row.sent_ns + 50 * MS


def test_cost_comes_from_the_table_unless_the_source_tells_it() -> None:
    scene = Scene()
    scene.start_turn()
    scene.call(input_tokens=1_000_000, cached_tokens=0, output_tokens=0)
    scene.call(cost_usd=7.5)
    scene.call(sent={"model": "nobody-knows"})
    rows = folded(scene).call_rows()
    assert [row.cost_usd for row in rows] == [1.25, 7.5, None]
    total = folded(scene).groups.total
    assert total.cost_usd == pytest.approx(8.75)
    assert (total.cost_known, total.cost_unknown) == (2, 1)


def test_tools_belong_to_the_call_before_them_as_a_union() -> None:
    scene = Scene()
    scene.start_turn()
    scene.call()
    first, second = scene.start_tool(), scene.start_tool()
    scene.wait(100)
    scene.finish_tool(first, 100)
    scene.wait(50)
    scene.finish_tool(second, 150)
    scene.call()
    scene.tool(7)
    rollup = folded(scene)
    assert [row.tools_ms for row in rollup.call_rows()] == [150.0, 7.0]
    tools = rollup.turns[scene.turn].tools
    assert [(tool.call, tool.duration_ms, tool.status) for tool in tools] == [
        ("sess_1_call_1", 100.0, "ok"),
        ("sess_1_call_1", 150.0, "ok"),
        ("sess_1_call_2", 7.0, "ok"),
    ]


def test_a_tool_that_names_its_call_belongs_to_it() -> None:
    scene = Scene()
    scene.start_turn()
    early = scene.call()
    scene.call()
    ids = scene.ids(early)
    scene.emit(ev.ToolStarted(**ids, tool_call="x", name="read"))
    scene.wait(5)
    scene.emit(ev.ToolFinished(**ids, tool_call="x", name="read", status="ok", duration_ms=5, output_bytes=1))
    assert [row.tools_ms for row in folded(scene).call_rows()] == [5.0, 0.0]


def test_a_tool_that_never_ends_ends_with_its_turn() -> None:
    scene = Scene()
    scene.start_turn()
    scene.call()
    scene.start_tool()
    scene.wait(30)
    scene.finish_turn("cancelled")
    assert only_call(scene).tools_ms == 30.0


def test_a_lost_chain_is_one_call_of_two_attempts() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send(reuse="reused", bytes_up=100, bytes_full=5000)
    scene.wait(10)
    scene.send(call, attempt=2, reuse="not_found", bytes_up=5000, bytes_full=5000)
    scene.wait(20)
    scene.delta(call, 20)
    scene.wait(5)
    scene.complete(call, 35, 5, ttft_ms=20, input_tokens=10, output_tokens=3)
    rollup = folded(scene)
    (row,) = rollup.call_rows()
    assert (row.attempts, row.reuse, row.bytes_up, row.bytes_saved, row.ttft_ms) == (2, "not_found", 5100, 4900, 20.0)
    assert row.attempt_ns == row.sent_ns + 10 * MS
    summary = rollup.summary()
    assert (summary.calls, summary.reused_calls, summary.full_resends, summary.bytes_up) == (1, 1, 0, 5100)
    assert dict(rollup.groups.total.reuse) == {"not_found": 1}


def test_the_first_delta_of_a_voided_attempt_does_not_count() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send()
    scene.delta(call, 5, "reasoning")
    scene.send(call, attempt=2, reuse="reconnected")
    scene.delta(call, 9)
    row = only_call(scene)
    assert (row.ttft_ms, row.channel, row.status) == (9.0, "text", None)


def test_an_attempt_after_a_failed_end_reopens_the_call() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send()
    scene.complete(call, 5, status="failed", error_code="previous_response_not_found")
    scene.send(call, attempt=2, reuse="not_found")
    assert only_call(scene).running
    scene.complete(call, 7, 1, input_tokens=5, output_tokens=1)
    rollup = folded(scene)
    assert dict(rollup.groups.total.statuses) == {"completed": 1}
    assert dict(rollup.groups.total.errors) == {}
    assert rollup.groups.total.calls == 1


def test_warm_ups_count_as_bytes_and_creates_only() -> None:
    scene = Scene()
    scene.start_session()
    scene.open_connection()
    warm = scene.send("warm", reuse="first", warmup=True, bytes_up=700)
    scene.complete(warm, 9, input_tokens=500, output_tokens=0)
    scene.start_turn()
    scene.call(sent={"reuse": "reused", "bytes_up": 100})
    rollup = folded(scene)
    assert rollup.summary() == Summary(
        calls=1, connections=1, reused_calls=1, full_resends=0, bytes_up=800, ttft_ms_p50=20.0,
        cached_tokens=800, input_tokens=1000, output_tokens=31,
    )  # fmt: skip
    assert [row.call for row in rollup.call_rows(warmups=True)] == ["warm", "sess_1_call_1"]
    assert [row.number for row in rollup.call_rows(warmups=True)] == [0, 1]
    assert (rollup.groups.total.warmups, rollup.groups.total.calls) == (1, 1)


def test_a_handshake_told_as_opened_and_reconnected_is_one() -> None:
    scene = Scene()
    scene.open_connection("a")
    scene.open_connection("b")
    scene.emit(ev.ConnectionReconnected(session=scene.session, connection="b", handshake_ms=4))
    scene.emit(ev.ConnectionReconnected(session=scene.session, connection="c", handshake_ms=4))
    scene.emit(ev.ConnectionRotated(session=scene.session, connection="c", age_s=3300))
    scene.emit(ev.ConnectionClosed(session=scene.session, connection="a", age_s=9, cause="rotated"))
    rollup = folded(scene)
    assert rollup.summary().connections == 3
    assert rollup.connections["a"].closed_ns is not None
    assert [what for _, what, _ in rollup.connections["c"].history] == ["connection.reconnected", "connection.rotated"]


def test_nothing_known_is_none_not_zero() -> None:
    scene = Scene()
    assert folded(scene).summary() == Summary(
        calls=0, connections=0, reused_calls=0, full_resends=0, bytes_up=0, ttft_ms_p50=None,
        cached_tokens=None, input_tokens=None, output_tokens=None,
    )  # fmt: skip
    scene.start_turn()
    call = scene.send()
    scene.complete(call, 100, status="failed", error_code="server_error")
    summary = folded(scene).summary()
    assert (summary.ttft_ms_p50, summary.cached_tokens, summary.input_tokens) == (None, None, None)
    row = only_call(scene)
    assert (row.overhead_ms, row.tpot_ms, row.rate, row.cache_ratio, row.bytes_saved) == (None, None, None, None, None)
    total = folded(scene).groups.total
    assert (total.cache_ratio, total.cost_usd, total.percentile("ttft", 0.5)) == (None, None, None)
    assert Figures().reused_share is None
    assert Figures().goodput is None


def test_a_repeated_event_changes_nothing() -> None:
    scene = Scene()
    scene.start_session()
    scene.start_turn()
    scene.call()
    scene.tool(5)
    scene.finish_turn()
    once, twice = folded(scene), Rollup()
    for event in scene.events:
        assert twice.fold(event)
        assert not twice.fold(event)
    assert twice.call_rows() == once.call_rows()
    assert twice.turns == once.turns
    assert twice.summary() == once.summary()
    assert dict(twice.groups.total.stages_ns) == dict(once.groups.total.stages_ns)


def test_usage_that_comes_later_replaces_the_earlier_as_a_whole() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.call(input_tokens=100, cached_tokens=90, cache_write_tokens=8, output_tokens=5)
    scene.complete(call, 50, 30, input_tokens=100, cached_tokens=0, output_tokens=6)
    row = only_call(scene)
    assert (row.input_tokens, row.cached_tokens, row.cache_write_tokens, row.output_tokens) == (100, 0, None, 6)
    total = folded(scene).groups.total
    assert (total.calls, total.input_tokens, total.cached_tokens, total.cache_write_tokens) == (1, 100, 0, 0)
    assert total.output_tokens == 6


def test_a_second_end_without_usage_keeps_the_usage() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.call()
    scene.complete(call, 60, 30)
    assert only_call(scene).input_tokens == 1000


def test_following_may_start_in_the_middle() -> None:
    scene = Scene()
    scene.start_session()
    turn = scene.start_turn()
    call = scene.send()
    scene.delta(call, 3)
    scene.complete(call, 10, 5, input_tokens=7, output_tokens=2)
    scene.tool(4)
    scene.finish_turn()
    for start in range(len(scene.events)):
        rollup = Rollup().fold_all(scene.events[start:])
        row = rollup.turns[turn]
        assert row.status == "completed"
        assert sum(row.stages_ns.values()) == row.duration_ns
    late = Rollup().fold_all(scene.events[4:]).calls[call]
    assert (late.model, late.reuse, late.status, late.input_tokens) == (None, None, "completed", 7)


def test_turn_ttft_is_from_the_start_of_the_turn() -> None:
    scene = Scene()
    scene.start_turn()
    scene.wait(100)
    call = scene.send()
    scene.wait(20)
    scene.delta(call, 20, "reasoning")
    scene.wait(30)
    scene.delta(call, 50, "text", visible_ttft_ms=50)
    row = folded(scene).turns[scene.turn]
    assert (row.ttft_ms, row.visible_ttft_ms) == (120.0, 150.0)


def test_stage_of_a_running_turn() -> None:
    scene = Scene()
    rollup = Rollup()

    def stage() -> ev.Stage | None:
        rollup.fold_all(scene.events)
        return rollup.turns[turn].stage

    turn = scene.start_turn()
    assert stage() == "client_other"
    call = scene.send()
    assert stage() == "api_overhead"
    scene.delta(call, 1)
    assert stage() == "inference"
    scene.complete(call, 2, 1)
    scene.open_approval()
    assert stage() == "approval"
    scene.resolve_approval()
    scene.start_tool()
    assert stage() == "client_tool"
    scene.finish_turn()
    assert stage() is None


def test_events_of_the_service_join_their_call_in_either_order() -> None:
    for service_first in (True, False):
        ours, theirs = Scene(), Scene(source="h000000-2-bbbbbb")
        ours.start_turn()
        call = ours.call(response_id="resp_9")
        theirs.emit(ev.ServiceCall(response_id="resp_9", stages_ms={"render": 0.5}, new_tokens=40, reused_tokens=900))
        streams = [theirs.events, ours.events] if service_first else [ours.events, theirs.events]
        row = Rollup().fold_all([event for stream in streams for event in stream]).calls[call]
        assert (row.service_stages_ms, row.new_tokens, row.reused_tokens) == ({"render": 0.5}, 40, 900)


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


def test_negative_durations_are_zero_and_counted() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send()
    scene.emit(ev.CallFirstEvent(**scene.ids(call), latency_ms=-1))
    scene.complete(call, -3, -2, ttft_ms=-0.5, clamped=2)
    rollup = folded(scene)
    (row,) = rollup.call_rows()
    assert (row.latency_ms, row.duration_ms, row.inference_ms, row.ttft_ms) == (0.0, 0.0, 0.0, 0.0)
    assert rollup.clamped == 6


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
