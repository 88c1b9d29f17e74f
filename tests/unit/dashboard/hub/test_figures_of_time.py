"""Intervals, trends, names, limits, settings and metrics: the pure parts that turn cells into what is shown."""

from __future__ import annotations

import math
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import ConfigError
from agent_core.rates import Buckets
from agent_core.telemetry.rollup.figures import OTHER
from agent_core.telemetry.rollup.prices import LIST_PRICES
from agent_core.telemetry.rollup.rows import CallRow
from agent_core.telemetry.rollup.sketch import Sketch
from dashboard.hub.housekeeping import limits
from dashboard.hub.ingest.names import LIMITS, MAX_DIMS, Names
from dashboard.hub.live.recent import SPAN_S, Recent
from dashboard.hub.metrics import MAX_GROUPS, Counters, Since, exposition
from dashboard.hub.queries import trends
from dashboard.hub.queries.trends import Filter, Row
from dashboard.hub.settings import HubSettings, Marker, changed, read_settings
from dashboard.hub.store.cell_codec import decode_cell, encode_cell
from dashboard.hub.store.records import DAY_US, Cell, Dims, day_of
from dashboard.state.intervals import MIN_SAMPLES, difference, median

SECOND_NS = 10**9


def sketch(values: list[float]) -> Sketch:
    found = Sketch()
    for value in values:
        found.add(value)
    return found


def cell(*overheads_ms: float, reuse: str = "reused", ttft_ms: float = 20.0) -> Cell:
    found = Cell()
    for number, overhead_ms in enumerate(overheads_ms):
        found.figures.add_call(
            CallRow(
                call=f"c{number}", source="a", number=1, status="completed", ttft_ms=ttft_ms, reuse=reuse,  # type: ignore[arg-type]
                duration_ms=overhead_ms + 100.0, inference_ms=100.0, input_tokens=1000, cached_tokens=500,
            )
        )  # fmt: skip
    return found


def rows(*items: tuple[int, str, Cell], **dims: str) -> list[Row]:
    return [(at_s, Dims(transport=transport, **dims), one) for at_s, transport, one in items]


def test_an_interval_covers_the_median_about_as_often_as_it_says() -> None:
    chance = random.Random(3)
    true_median, hits = math.exp(3.0), 0
    for _ in range(300):
        found = median(sketch([chance.lognormvariate(3.0, 0.8) for _ in range(60)]))
        assert found is not None
        hits += found.low * 0.99 <= true_median <= found.high * 1.01
    assert 0.92 <= hits / 300 <= 1.0


def test_the_interval_of_a_difference_covers_it_and_is_clear_only_when_it_is() -> None:
    chance = random.Random(4)
    hits = false_alarms = 0
    for _ in range(200):
        before = sketch([chance.gauss(40, 6) for _ in range(80)])
        after = sketch([max(0.0, chance.gauss(10, 3)) for _ in range(80)])
        same = sketch([chance.gauss(40, 6) for _ in range(80)])
        change, none = difference(before, after), difference(before, same)
        assert change is not None
        assert none is not None
        assert change.clear
        hits += change.low <= -30 <= change.high
        false_alarms += none.clear
    assert hits / 200 > 0.9
    assert false_alarms / 200 < 0.1


def test_too_few_samples_say_nothing() -> None:
    few, many = sketch([1.0] * (MIN_SAMPLES - 1)), sketch([1.0] * MIN_SAMPLES)
    assert median(few) is None
    assert difference(few, many) is None
    assert difference(many, many) is not None


def test_before_and_after_leaves_out_the_bucket_of_the_change() -> None:
    items = [(minute * 60, "websocket", cell(*[50.0] * 10)) for minute in range(10)]
    items += [(600, "websocket", cell(*[9_000.0] * 10))]
    items += [(minute * 60, "websocket", cell(*[5.0] * 10)) for minute in range(11, 20)]
    overhead = next(
        one for one in trends.before_and_after(rows(*items), 630.0) if one.title == "median overhead per call"
    )
    assert overhead.difference.a.value == pytest.approx(50, rel=0.02)
    assert overhead.difference.b.value == pytest.approx(5, rel=0.02)
    assert (overhead.difference.a.samples, overhead.difference.b.samples) == (100, 90)


def test_transports_are_compared_with_each_other_only() -> None:
    found = trends.websocket_and_http(
        rows((0, "http", cell(*[40.0] * 20)), (0, "websocket", cell(*[4.0] * 20)), (0, "", cell(1e3)))
    )
    assert found[0].difference.change == pytest.approx(-36, rel=0.02)
    assert trends.websocket_and_http(rows((0, "http", cell(*[40.0] * 20)))) == []


def test_time_saved_needs_both_kinds_of_calls_and_a_clear_difference() -> None:
    def of(*kinds: tuple[str, list[float]]) -> float | None:
        return trends.time_saved_ms([(0, Dims(reuse=reuse), cell(*times, reuse=reuse)) for reuse, times in kinds])

    assert of(("reused", [5.0] * 100), ("full_resend", [45.0] * 20)) == pytest.approx(4_000, rel=0.03)
    assert of(("reused", [5.0] * 100)) is None
    assert of(("reused", [45.0] * 100), ("first", [5.0] * 20)) is None


def test_charts_have_gaps_where_nothing_is_known_and_splits_keep_the_largest() -> None:
    items = [(0, Dims(model=f"m{index}"), cell(*[float(index + 1)] * (index + 1))) for index in range(10)]
    items.append((120, Dims(model="m9"), cell(3.0)))
    whole = {chart.key: chart for chart in trends.charts(items, 60)}
    assert [point.at_s for point in whole["calls"].points] == [0, 120]
    assert whole["ttft"].band
    assert "cost" not in whole, "no price, no cost"
    split = {chart.key: chart for chart in trends.split_charts(items, 60, "model")}
    lines = split["calls"].lines
    assert lines[0] == "m9"
    assert lines[-1] == OTHER
    assert len(lines) == trends.MAX_GROUPS + 1
    assert split["calls"].points[1].values[1:] == (None,) * trends.MAX_GROUPS
    assert sum(value or 0 for value in split["calls"].points[0].values) == 55


@pytest.mark.parametrize(
    ("hours", "level"), [(1, 60), (6, 60), (6.7, 3600), (24 * 16, 3600), (24 * 17, 86_400), (24 * 400, 86_400)]
)
def test_the_level_fits_the_span(hours: float, level: int) -> None:
    assert trends.level_for(0, hours * 3600) == level


def test_filters_match_exactly() -> None:
    items = rows((0, "http", cell(1.0)), (0, "websocket", cell(1.0)), model="m", agent="a")
    assert len(trends.chosen(items, Filter())) == 2
    assert len(trends.chosen(items, Filter(transport="http", model="m"))) == 1
    assert trends.chosen(items, Filter(model="")) == items
    assert trends.chosen(items, Filter(model="M")) == []
    assert trends.names(items)["transport"] == ["http", "websocket"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1e9), max_size=30), st.dictionaries(st.sampled_from(["a", "b"]), st.integers(1, 9)))
def test_a_cell_survives_the_way_to_disk(overheads: list[float], errors: dict[str, int]) -> None:
    one = cell(*overheads)
    one.figures.errors.update(errors)
    one.savings.bytes_full = 12
    back = decode_cell(encode_cell(one))
    assert encode_cell(back) == encode_cell(one)
    assert back.figures.percentile("overhead", 0.5) == one.figures.percentile("overhead", 0.5)
    assert (back.figures.errors, back.savings) == (one.figures.errors, one.savings)


def test_names_of_a_day_are_bounded_and_known_ones_stay() -> None:
    names = Names(LIST_PRICES)
    for number in range(LIMITS["model"]):
        assert names.bounded("2026-11-30", Dims(model=f"m{number}")).model == f"m{number}"
    assert names.bounded("2026-11-30", Dims(model="one more")).model == OTHER
    assert names.bounded("2026-11-30", Dims(model="m5")).model == "m5"
    assert names.bounded("2026-11-30", Dims(model="gpt-5")).model == "gpt-5", "a priced model always has its own"
    assert names.bounded("2026-12-01", Dims(model="one more")).model == "one more"
    assert names.folded == 1
    assert len(names.bounded("2026-11-30", Dims(project="x" * 500 + "\x1b[31m")).project) <= 80


def test_combinations_of_a_day_are_bounded() -> None:
    names = Names(LIST_PRICES)
    found = {names.bounded("d", Dims(agent=f"a{number}")) for number in range(MAX_DIMS + 500)}
    assert len(found) == MAX_DIMS + 1


def test_buckets_refill_and_forget() -> None:
    buckets = Buckets(per_s=2.0, burst=3.0, max_keys=2)
    assert [buckets.take("a", 0) for _ in range(3)] == [0.0] * 3
    assert buckets.take("a", 0) == pytest.approx(0.5)
    assert buckets.take("b", 0) == 0.0
    assert buckets.take("a", SECOND_NS) == 0.0
    assert buckets.take("c", SECOND_NS) == 0.0
    assert buckets.take("b", SECOND_NS) == 0.0, "forgotten keys begin anew"
    assert buckets.take("d", 0, 100.0) == 0.0, "more than the burst is taken as the burst"
    assert buckets.take("d", 0) > 0


def test_the_last_minutes_move_along() -> None:
    recent = Recent()
    recent.seed({0: 6_000, 60: 0}, 120)
    assert recent.rates[0] == (0, 100.0)
    assert recent.rates[-1][1] == 0.0
    recent.sample(121, 50.0)
    recent.sample(121, 99.0)
    assert recent.rates[-1] == (121, 50.0)
    recent.add(60, cell(1.0, 1.0, reuse="reused").figures, 121)
    recent.add(60, cell(1.0, reuse="full_resend").figures, 121)
    assert recent.reused(121) == (2, 3)
    assert recent.ttft(121).quantile(0.5) == pytest.approx(20, rel=0.01)
    assert recent.reused(60 + SPAN_S + 60) == (0, 0)
    recent.sample(121 + SPAN_S + 10, 1.0)
    assert len(recent.rates) == 1


def test_metrics_stay_bounded_and_each_team_sees_its_own() -> None:
    since = Since()
    for number in range(MAX_GROUPS * 2):
        since.add("red" if number % 2 else "blue", Dims(model=f'm"{number}\n', transport="http"), cell(1.0))
    assert len(since.groups) <= MAX_GROUPS + 4
    text = exposition(since, "blue", {"disk_bytes": 5.0}, Counters())
    assert 'team="red"' not in text
    assert "loopline_hub_disk_bytes 5" in text
    assert "\n\n" not in text
    assert all(re.match(r"#|[a-z_]+(\{.*\})? \S+$", line) for line in text.splitlines())


@pytest.mark.parametrize(
    "change",
    [{"raw_days": 0}, {"raw_days": 401}, {"targets": {"x": 1}}, {"prices": {"m": {"input": 1.0}}}, {"nothing": 1},
     {"prices": {"": {"input": 1.0, "output": 1.0}}}, {"markers": [{"at": "2026-11-30", "label": "x"}]}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        changed(HubSettings(), change)


def test_settings_of_a_later_version_or_none_are_the_defaults() -> None:
    assert read_settings(None) == read_settings(b"junk") == read_settings(b'{"raw_days": -1}') == HubSettings()
    assert read_settings(b'{"raw_days": 5}').raw_days == 5
    own = changed(HubSettings(), {"prices": {"mine": {"input": 1.0, "output": 2.0}}})
    assert own.price_table().knows("mine")
    assert own.price_table().knows("gpt-5")
    assert Marker("1970-01-01T00:00:10Z", "x").at_s == 10


def test_retention_follows_the_settings() -> None:
    now_us = 20_000 * DAY_US
    kept = limits(HubSettings(raw_days=7, rollup_days=100), now_us)
    assert kept.raw_before == day_of(now_us - 7 * DAY_US)
    assert kept.cells_before[86_400] == (20_000 - 100) * 86_400
    assert kept.cells_before[60] > kept.cells_before[3600]
    assert limits(HubSettings(raw_days=1, rollup_days=1), now_us).cells_before[60] == (20_000 - 1) * 86_400


def test_days_are_clamped() -> None:
    assert (day_of(-5), day_of(0), day_of(1 << 62)) == ("1970-01-01", "1970-01-01", "9999-12-31")
