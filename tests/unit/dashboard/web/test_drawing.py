"""A turn as shapes: positions in per cent that are true to time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.telemetry import events as ev
from dashboard.state.fold import State
from dashboard.state.waterfall import Waterfall, waterfall
from dashboard.web.drawing import MIN_WIDTH, connection_events, draw, stack, ticks
from tests.support.hub.stores import agent_scene, work


def fallen(state: State, turn: str) -> Waterfall:
    found = waterfall(state.rollup, turn, 0)
    assert found is not None
    return found


def test_bars_are_where_their_times_are() -> None:
    scene = agent_scene()
    turn = work(scene, calls=4)
    state = State().apply_all(scene.events)
    fall = fallen(state, turn)
    lines = [draw(bar, fall) for bar in fall.bars]
    assert [line.kind for line in lines].count("call") == 4
    for line, bar in zip(lines, fall.bars, strict=True):
        start, end = line.parts[0].x, line.parts[-1].x + line.parts[-1].width
        assert start == pytest.approx(bar.start_ns * 100 / fall.span_ns, abs=MIN_WIDTH)
        assert end == pytest.approx(bar.end_ns * 100 / fall.span_ns, abs=2 * MIN_WIDTH)
        assert end <= 100.01
        assert bar.name in line.label
    assert lines[0].ttft_x is not None
    assert sum(one.width for one in stack(fall)) == pytest.approx(100)
    assert [one.stage for one in stack(fall)][:2] == ["inference", "client_tool"]


def test_what_took_no_time_can_still_be_seen() -> None:
    scene = agent_scene()
    turn = scene.start_turn()
    call = scene.send()
    scene.complete(call, 0.0)
    scene.tool(0.0)
    scene.wait(60_000)
    scene.finish_turn()
    state = State().apply_all(scene.events)
    fall = fallen(state, turn)
    for bar in fall.bars:
        line = draw(bar, fall)
        assert sum(part.width for part in line.parts) >= MIN_WIDTH
        assert line.duration == "0.0 ms" or line.duration == "0 ms"


def test_the_connections_events_lie_on_the_turns_axis() -> None:
    scene = agent_scene()
    scene.wait(5_000)
    turn = scene.start_turn()
    scene.call()
    scene.emit(
        ev.ConnectionReconnected(session=scene.session, connection="conn_1", handshake_ms=2.0, cause="<b>lost</b>")
    )
    scene.wait(100)
    scene.finish_turn()
    state = State().apply_all(scene.events)
    found = connection_events(state, turn, fallen(state, turn))
    assert [what for _, what, _ in found] == ["opened", "reconnected: <b>lost</b>"]
    assert found[0][0] == 0.0
    assert "before" in found[0][2]
    assert 0 < found[1][0] < 100


@settings(max_examples=80, deadline=None)
@given(st.floats(0.01, 1e9))
def test_ticks_are_few_round_and_within_the_axis(span_ms: float) -> None:
    found = ticks(span_ms)
    assert 2 <= len(found) <= 7
    assert all(0 <= x <= 100.001 for x, _ in found)
    assert all(re.fullmatch(r"[\d.e+-]+ (ms|s|min)", text) for _, text in found)
    assert found[0][0] == 0
