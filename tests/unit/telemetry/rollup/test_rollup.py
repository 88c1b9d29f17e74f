"""The roll-up: what each event does to the rows, the sums and the summary."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.figures import Figures
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import CallRow
from agent_core.telemetry.rollup.summary import Summary
from tests.support.telemetry.scene import EPOCH_NS, MS, Scene


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
        cached_tokens=800, input_tokens=1000, output_tokens=31, reasoning_tokens=0,
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
        cached_tokens=None, input_tokens=None, output_tokens=None, reasoning_tokens=None,
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
