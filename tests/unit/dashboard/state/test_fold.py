"""The state that both dashboards draw from: what changed, the list of turns, the header, bounds."""

from __future__ import annotations

from agent_core.telemetry import events as ev
from dashboard.state.filters import matches, parse
from dashboard.state.fold import MAX_DIRTY, MINUTE_NS, State
from dashboard.state.lines import TurnLine
from tests.support.telemetry.recorded_feed import now_after, recorded_feed
from tests.support.telemetry.scene import Scene

FEED = recorded_feed()
NOW_NS = now_after(FEED)


def state() -> State:
    return State().apply_all(FEED)


def line(turn: str, made: State | None = None) -> TurnLine:
    found = (made or state()).turn_line(turn, NOW_NS)
    assert found is not None
    return found


def test_turns_are_listed_newest_first_with_their_figures() -> None:
    lines = state().turn_lines(NOW_NS)
    assert [one.turn for one in lines] == [
        "turn_dates", "turn_proxy", "turn_guide", "turn_explain", "turn_cache", "turn_rename"
    ]  # fmt: skip
    assert [one.status for one in lines] == [None, "completed", "cancelled", "completed", "failed", "completed"]
    rename = lines[-1]
    assert (rename.title, rename.calls, rename.reused, rename.full) == ("inventory #1", 11, 11, 0)
    assert (rename.models, rename.tools[:2]) == (("gpt-5.5",), ("list", "search"))
    assert (lines[1].title, lines[1].cache_ratio, lines[1].cached_tokens) == ("cli #1", None, None)
    assert lines[-2].error_code == "rate_limit_exceeded"
    assert [one.turn for one in state().turn_lines(NOW_NS, limit=2)] == ["turn_dates", "turn_proxy"]


def test_a_running_turn_grows_between_events_and_an_ended_one_does_not() -> None:
    made = state()
    before, later = line("turn_dates", made), made.turn_line("turn_dates", NOW_NS + 1_000_000_000)
    assert later is not None
    assert round(later.duration_ms - before.duration_ms) == 1000
    assert (before.stage, before.approvals, made.pending_approvals("turn_dates")) == ("approval", 1, ["appr_push"])
    assert made.turn_line("turn_rename", NOW_NS) is made.turn_line("turn_rename", NOW_NS + 10**12)
    assert made.turn_line("turn_unknown", NOW_NS) is None


def test_the_rate_of_a_turn_weighs_its_calls_by_their_output() -> None:
    scene = Scene()
    scene.start_turn()
    scene.call(ttft_ms=20, decode_ms=1000, output_tokens=101)
    scene.call(ttft_ms=20, decode_ms=3000, output_tokens=901)
    scene.finish_turn()
    made = State().apply_all(scene.events)
    found = made.turn_line(scene.events[-1].turn or "", scene.clock.wall_ns())
    assert found is not None and found.rate is not None
    assert abs(found.rate - (101 + 901) / (101 / 100 + 901 / 300)) < 1e-6
    assert not found.rate_estimated


def test_what_changed_is_told_once_as_ids() -> None:
    made = State()
    assert not made.take_dirty()
    made.apply_all(FEED)
    dirty = made.take_dirty()
    assert dirty.turns == {one.turn for one in made.turn_lines(NOW_NS)}
    assert dirty.ended == ["turn_rename", "turn_cache", "turn_explain", "turn_guide", "turn_proxy"]
    assert dirty.connections == {"conn_a1", "conn_b1", "conn_b2"}
    assert (dirty.events, dirty.errors) == (len(FEED), len(made.errors))
    assert not made.take_dirty()
    assert made.running == ["turn_dates"]


def test_a_repeated_event_changes_nothing() -> None:
    made = state()
    made.take_dirty()
    events, savings = made.events, made.savings.total.bytes_up
    assert not any(made.apply(event) for event in FEED)
    assert (made.events, made.savings.total.bytes_up) == (events, savings)
    assert not made.take_dirty()


def test_nobody_asking_what_changed_costs_bounded_memory() -> None:
    scene = Scene()
    for _ in range(MAX_DIRTY + 10):
        scene.start_turn()
        scene.finish_turn()
    made = State(max_turns=50).apply_all(scene.events)
    dirty = made.take_dirty()
    assert dirty.everything
    assert len(dirty.turns) + len(dirty.ended) <= MAX_DIRTY
    assert len(made.rollup.turns) == 50
    assert len(made.turn_lines(scene.clock.wall_ns())) == 50
    assert len(made.raw) == made.raw.maxlen


def test_the_header_tells_of_the_latest_call_and_of_today() -> None:
    made = state()
    header = made.header(NOW_NS, NOW_NS - 3600 * 10**9)
    assert (header.transport, header.connection, header.connection_state) == ("websocket", "conn_a1", "open")
    assert header.connection_age_s is not None and header.rotates_in_s is not None
    assert abs(header.connection_age_s + header.rotates_in_s - 55 * 60) < 1e-6
    assert (header.ttft_ms, round(header.cache_ratio or 0, 2)) == (90.0, 0.98)
    assert (header.running, header.approvals, header.live_rate) == (1, 1, None)
    assert header.cost_partial, "the local model has no price"
    total = made.rollup.groups.total.cost_usd
    assert header.cost_usd is not None and total is not None
    assert abs(header.cost_usd - total) < 1e-9
    assert made.cost_since(NOW_NS + 2 * MINUTE_NS) == (None, False)


def test_the_header_goes_by_time_however_sources_come() -> None:
    by_source = sorted(FEED, key=lambda event: (event.source != "h3fa29c-4711-9c2e1d", event.source, event.seq))
    assert State().apply_all(by_source).header(NOW_NS, 0) == state().header(NOW_NS, 0)


def test_before_anything_is_known_the_header_says_nothing() -> None:
    header = State().header(NOW_NS, 0)
    assert (header.transport, header.connection_state, header.cost_usd) == (None, None, None)
    assert (header.ttft_ms, header.cache_ratio, header.rates) == (None, None, ())


def test_live_rate_is_sampled_and_gone_when_idle() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send()
    scene.wait(100)
    scene.delta(call, 100)
    for step in range(1, 9):
        scene.wait(250)
        scene.emit(ev.CallProgress(**scene.ids(call), output_tokens_est=step * 200, rate_est=800.0))
    made = State().apply_all(scene.events)
    now_ns = scene.clock.wall_ns()
    made.sample_rate(now_ns)
    streaming = made.turn_line(scene.turn, now_ns)
    assert streaming is not None
    assert (round(streaming.rate or 0), streaming.rate_estimated) == (800, True)
    assert [round(rate) for rate in made.header(now_ns, 0).rates] == [800]
    scene.complete(call, 2_100.0, 2_000.0, output_tokens=1_600)
    made.apply(scene.events[-1])
    made.sample_rate(now_ns)
    assert made.header(now_ns, 0).live_rate is None
    assert [round(rate) for rate in made.header(now_ns, 0).rates] == [800, 0]


def test_filters_find_words_anywhere_or_in_one_field() -> None:
    made = state()

    def found(text: str, titles: dict[str, str] | None = None) -> list[str]:
        words = parse(text)
        return [one.turn for one in made.turn_lines(NOW_NS) if matches(words, one, (titles or {}).get(one.turn, ""))]

    assert found("status:failed") == ["turn_cache"]
    assert found("STATUS:running") == ["turn_dates"]
    assert found("project:docs -status:failed") == ["turn_guide", "turn_explain"]
    assert found("tool:checks") == ["turn_rename"]
    assert found("model:local") == ["turn_proxy"]
    assert found("rate_limit") == ["turn_cache"]
    assert found("inventory shell") == ["turn_dates"]
    assert found("dates", {"turn_dates": "fix parsing of Dates"}) == ["turn_dates"]
    assert found("title:parsing", {"turn_dates": "fix parsing of Dates"}) == ["turn_dates"]
    assert found("nofield:x") == []
    assert len(found("  ")) == len(found("-")) == 6
