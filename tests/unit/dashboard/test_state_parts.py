"""Waterfall, findings, connections, comparison: the parts of the state that panels show."""

from __future__ import annotations

from agent_core.telemetry import events as ev
from agent_core.telemetry.events import Reuse
from agent_core.telemetry.rollup.figures import Figures, Targets
from agent_core.telemetry.rollup.rows import CallRow, TurnRow
from dashboard.state.compare import compare, figures_of_turn
from dashboard.state.fold import State
from dashboard.state.glossary import GLOSSARY
from dashboard.state.waterfall import Waterfall, waterfall
from tests.support.telemetry.recorded_feed import now_after, recorded_feed
from tests.support.telemetry.scene import MS, Scene

FEED = recorded_feed()
NOW_NS = now_after(FEED)


def made() -> State:
    return State().apply_all(FEED)


def drawn(turn: str, state: State | None = None, now_ns: int = NOW_NS) -> Waterfall:
    found = waterfall((state or made()).rollup, turn, now_ns)
    assert found is not None
    return found


def test_bars_lie_where_things_happened_and_parallel_tools_in_lanes_of_their_own() -> None:
    scene = Scene()
    scene.start_turn()
    scene.wait(10)
    scene.call(ttft_ms=20, decode_ms=30)
    slow, quick = scene.start_tool("read"), scene.start_tool("search")
    scene.wait(15)
    scene.finish_tool(quick, 15, "search")
    scene.wait(25)
    scene.finish_tool(slow, 40)
    scene.wait(5)
    scene.finish_turn()
    found = drawn("sess_1_turn_1", State().apply_all(scene.events), scene.clock.wall_ns())
    assert [(bar.name, bar.start_ns // MS, bar.end_ns // MS, bar.lane) for bar in found.bars] == [
        ("call 1", 10, 60, 0),
        ("read", 60, 100, 0),
        ("search", 60, 75, 1),
    ]
    call = found.bars[0]
    assert [(stage, a // MS, b // MS) for stage, a, b in call.parts] == [
        ("api_overhead", 10, 30),
        ("inference", 30, 60),
    ]
    assert call.ttft_ns == 30 * MS
    assert (found.lanes, found.span_ns // MS, found.duration_ms) == (2, 105, 105.0)
    assert sum(found.stages_ms.values()) == found.duration_ms


def test_the_axis_ends_with_the_latest_bar_and_a_running_bar_with_now() -> None:
    found = drawn("turn_dates")
    waiting = found.bars[-1]
    assert (waiting.kind, waiting.running, round(waiting.duration_ms)) == ("approval", True, 850)
    assert found.span_ns == waiting.end_ns
    later = drawn("turn_dates", now_ns=NOW_NS + 500 * MS)
    assert later.span_ns - found.span_ns == 500 * MS


def test_a_bar_without_an_end_ends_with_its_turn() -> None:
    scene = Scene()
    scene.start_turn("turn_1")
    scene.start_tool("shell")
    scene.wait(10)
    scene.finish_turn()
    [bar] = drawn("turn_1", State().apply_all(scene.events), scene.clock.wall_ns() + 10**10).bars
    assert (bar.end_ns // MS, bar.running, bar.status) == (10, False, None)


def test_only_the_latest_bars_are_kept_beyond_the_limit() -> None:
    state = made()
    found = waterfall(state.rollup, "turn_rename", NOW_NS, limit=5)
    assert found is not None
    whole = drawn("turn_rename", state)
    assert (len(found.bars), found.left_out) == (5, len(whole.bars) - 5)
    assert found.bars[-1].id == whole.bars[-1].id
    assert waterfall(state.rollup, "turn_unknown", NOW_NS) is None


def test_each_trouble_is_one_finding_and_recovered_ones_say_so() -> None:
    found = [(one.severity, one.subject, one.code) for one in made().errors]
    assert found == [
        ("error", "call", "rate_limit_exceeded"),
        ("recovered", "connection", "connection_lost"),
        ("warning", "connection", "handshake_refused"),
        ("warning", "tool", "tool_error"),
        ("recovered", "call", "not_found"),
    ]
    scene = Scene()
    scene.start_turn()
    scene.finish_turn("interrupted")
    assert [(one.subject, one.code) for one in State().apply_all(scene.events).errors] == [("turn", "interrupted")]


def test_names_in_findings_are_harmless() -> None:
    scene = Scene()
    scene.start_turn()
    scene.emit(
        ev.ToolFinished(tool_call="t", name="[/b]\x1b[31m", status="timeout", duration_ms=1500.0, output_bytes=0)
    )
    [found] = State().apply_all(scene.events).errors
    assert found.text == "[/b] timed out after 1.50 s"


def test_connections_count_their_calls_and_keep_their_history() -> None:
    rows = {row.connection: row for row in made().connections.newest_first()}
    assert set(rows) == {"conn_a1", "conn_b1", "conn_b2"}, "calls over HTTP open none"
    editor = rows["conn_a1"]
    assert (editor.state, editor.calls, editor.reused, editor.warmups) == ("open", 17, 16, 1)
    assert [what for _, what, _ in editor.history] == ["opened", "prewarmed"]
    lost = rows["conn_b1"]
    assert (lost.state, lost.cause, lost.failed) == ("closed", "connection_lost", 1)
    assert [(what, cause) for _, what, cause in rows["conn_b2"].history] == [
        ("opened", "connection_lost"),
        ("reconnected", "connection_lost"),
    ]


def test_connections_of_a_process_that_is_gone_are_lost() -> None:
    state = made()
    state.take_dirty()
    state.end_source("h3fa29c-4711-9c2e1d")
    row = state.connections.rows["conn_a1"]
    assert (row.state, row.ended_ns, row.rotates_in_s(NOW_NS)) == ("lost", row.last_ns, None)
    assert "conn_a1" in state.take_dirty().connections
    current = state.connections.current()
    assert current is not None and current.connection == "conn_b2"


def test_what_the_service_calls_a_connection_is_none_of_ours() -> None:
    scene = Scene()
    scene.emit(ev.ServiceCall(response_id="r", stages_ms={}, new_tokens=1, reused_tokens=0, connection="http_1"))
    assert State().apply_all(scene.events).connections.current() is None


def test_turns_are_compared_measure_by_measure() -> None:
    state = made()
    found = {
        one.measure.key: one
        for one in compare(figures_of_turn(state.rollup, "turn_rename"), figures_of_turn(state.rollup, "turn_explain"))
    }
    assert (found["calls"].a, found["calls"].b, found["calls"].verdict) == (11, 2, "unknown")
    assert {found[key].verdict for key in ("turn", "ttft", "reused", "rate")} == {"few"}, "one turn a side says nothing"
    change = found["calls"].change
    assert change is not None and abs(change + 9 / 11) < 1e-9
    assert found["out"].verdict == "unknown", "more output is neither better nor worse"
    assert compare(Figures(), figures_of_turn(state.rollup, "turn_unknown")) == compare(Figures(), Figures())


def turns_of(count: int, *, ttft_ms: float, reuse: Reuse = "reused", good: bool = True) -> Figures:
    figures = Figures()
    for turn in range(count):
        for number in range(4):
            figures.add_call(
                CallRow(
                    call=f"{turn}.{number}", source="s", number=1, status="completed", reuse=reuse,
                    ttft_ms=ttft_ms + number, duration_ms=200.0, inference_ms=150.0,
                )
            )  # fmt: skip
        figures.add_turn(
            TurnRow(turn=f"{turn}", source="s", session=None, started_ns=0, status="completed", duration_ns=10**9), good
        )
    return figures


def verdicts(a: Figures, b: Figures) -> dict[str, str]:
    return {one.measure.key: one.verdict for one in compare(a, b)}


def test_a_verdict_needs_five_turns_a_side_and_an_interval_without_zero() -> None:
    slow, quick = turns_of(6, ttft_ms=90, reuse="full_resend", good=False), turns_of(6, ttft_ms=20)
    assert verdicts(slow, quick)["ttft"] == "better"
    assert verdicts(quick, slow)["ttft"] == "worse"
    assert verdicts(slow, quick)["reused"] == verdicts(slow, quick)["goodput"] == "better"
    assert verdicts(slow, turns_of(4, ttft_ms=20))["ttft"] == "few"
    assert verdicts(quick, turns_of(6, ttft_ms=20))["ttft"] == "unclear"
    assert verdicts(slow, quick)["call_overhead"] == "unclear"
    assert {verdicts(slow, quick).get(key, "unknown") for key in ("calls", "in", "cost", "up")} == {"unknown"}


def test_a_turn_is_good_by_the_targets_of_the_user() -> None:
    """Without targets a turn is good that completed."""
    for targets, good in ((None, 1.0), (Targets(ttft_ms=0.001), 0.0)):
        state = State(targets=targets).apply_all(FEED)
        assert figures_of_turn(state.rollup, "turn_rename").goodput == good


def test_models_are_groups_of_their_own() -> None:
    models = made().rollup.groups.models
    found = {one.measure.key: one for one in compare(models["gpt-5.5"], models["gpt-5.4-mini"])}
    assert (found["calls"].a, found["calls"].b) == (17, 5)


def test_every_number_has_a_formula_and_a_unit() -> None:
    assert all(meaning.formula and meaning.unit and meaning.name for meaning in GLOSSARY)
    assert len({meaning.key for meaning in GLOSSARY}) == len(GLOSSARY)
    shown = {"ttft", "rate", "cached", "cost", "bytes_saved", "tokens_kept", "rotates", "overhead", "live_rate"}
    assert shown <= {meaning.key for meaning in GLOSSARY}
