"""Trends: measures over time from roll-ups, split or whole, with what changed at a marker and between transports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from agent_core.telemetry.rollup.figures import Figures
from dashboard.hub.core import Hub
from dashboard.hub.queries import trends
from dashboard.hub.queries.trends import Chart, Compared, Filter, Row
from dashboard.hub.settings import Marker
from dashboard.hub.store.records import Level
from dashboard.state import format as fmt
from dashboard.web.access import ReadApi, ReadPage
from dashboard.web.pages.common import RANGES, TimeRange, filters, page, time_range
from dashboard.web.parts import parts_of
from dashboard.web.replies import json_reply

router = APIRouter()

FILTERS = Filter.__struct_fields__


class Sentence(msgspec.Struct, frozen=True):
    """A comparison in words; `clear` if its interval leaves out 0."""

    title: str
    text: str
    clear: bool


class GroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table of groups."""

    name: str
    calls: str
    turns: str
    tokens_in: str
    tokens_cached: str
    tokens_out: str
    ttft: str
    overhead: str
    rate: str
    cached: str
    reused: str
    failed: str
    good: str
    cost: str
    suspect: int
    """Figures of its calls that cannot be right."""


@router.get("/trends")
async def trends_page(request: Request, identity: ReadPage) -> Response:
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9)
    asked = filters(request, FILTERS)
    split = request.query_params.get("by", "")
    split = split if split in trends.SPLITS else ""
    everything = await rows_of(hub, span, identity.sees)
    rows = trends.chosen(everything, Filter(**asked))
    level = trends.level_for(span.since_s, span.until_s)
    marker = _marker(request, hub, span)
    suspect = trends.total(rows).figures.suspect
    return page(
        request, "trends.html", identity, span=span, ranges=RANGES, asked=asked, split=split, splits=trends.SPLITS,
        names=trends.names(everything), level=level, marker=marker, markers=hub.settings.markers,
        charts=[shown(chart, _suspects(rows, split)) for chart in charts_of(rows, level, split)],
        changes=[] if marker is None else sentences(trends.before_and_after(rows, marker.at_s), "before", "after"),
        transports=sentences(trends.websocket_and_http(rows), "over HTTP", "over WebSocket"),
        groups=[group_row(name, cell.figures) for name, cell in trends.grouped(rows, split or "model", 50).items()],
        suspect=dict(suspect), grouping=split or "model", targets=hub.settings.targets,
    )  # fmt: skip


@router.get("/api/trends")
async def trends_as_data(request: Request, identity: ReadApi) -> Response:
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9)
    rows = trends.chosen(await rows_of(hub, span, identity.sees), Filter(**filters(request, FILTERS)))
    split = request.query_params.get("by", "")
    level = trends.level_for(span.since_s, span.until_s)
    return json_reply(
        {
            "since_s": span.since_s,
            "until_s": span.until_s,
            "bucket_s": level,
            "charts": charts_of(rows, level, split if split in trends.SPLITS else ""),
            "suspect": trends.total(rows).figures.suspect,
            "websocket_and_http": trends.websocket_and_http(rows),
        }
    )


async def rows_of(hub: Hub, span: TimeRange, team: str | None) -> list[Row]:
    """The roll-up cells of a range, at the level that fits it, each with its team."""
    level = trends.level_for(span.since_s, span.until_s)
    teams = sorted({record.team for record in hub.roster.sources.values()}) if team is None else [team]
    found: list[Row] = []
    for name in teams:
        rows = await hub.ask(hub.store.cells, level, span.since_s // level * level, span.until_s, name)
        found += [
            (bucket, trends.TeamDims(**msgspec.structs.asdict(dims), team=name), cell) for bucket, dims, cell in rows
        ]
    return found


def charts_of(rows: list[Row], level: Level, split: str) -> list[Chart]:
    return trends.split_charts(rows, level, split) if split else trends.charts(rows, level)


class ShownPoint(msgspec.Struct, frozen=True):
    at_s: int
    time: str
    cells: list[tuple[float | None, str]]
    """(value, as text)."""


class ShownChart(msgspec.Struct, frozen=True, kw_only=True):
    chart: Chart
    summary: str
    points: list[ShownPoint]


def _suspects(rows: list[Row], split: str) -> dict[str, set[str]]:
    """Figures that cannot be right in some call of the range, by line of a split ("" without one)."""
    groups = trends.grouped(rows, split) if split else {"": trends.total(rows)}
    return {name or "unknown" if split else "": set(cell.figures.suspect) for name, cell in groups.items()}


def shown(chart: Chart, suspects: Mapping[str, set[str]]) -> ShownChart:
    """A chart with its values as text, and what it says in one sentence; sums of suspect figures are marked."""
    points = [
        ShownPoint(point.at_s, fmt.date_and_time(point.at_s * 10**9)[:16], [(v, _text(chart, v)) for v in point.values])
        for point in chart.points
    ]
    parts = []
    for index, name in enumerate(chart.lines):
        values = [point.values[index] for point in chart.points]
        known = [value for value in values if value is not None]
        if known:
            named = f"{name} " if len(chart.lines) > 1 else ""
            told = _told(chart, known, points)
            parts.append(
                named
                + fmt.marked(told, suspect=_counts(chart, name) in suspects.get("" if "" in suspects else name, set()))
            )
    return ShownChart(chart=chart, summary="; ".join(parts), points=points)


def _counts(chart: Chart, line: str) -> str:
    """The figure of a call that a line of the chart of tokens adds up, else ""."""
    measure, _, part = chart.key.partition(".")
    return f"{part or line}_tokens" if measure == "tokens" else ""


def _told(chart: Chart, known: list[float], points: list[ShownPoint]) -> str:
    """A line in words: a single value stands with its time, a sum beside its parts."""
    low, high, last = _text(chart, min(known)), _text(chart, max(known)), _text(chart, known[-1])
    if len(known) == 1:
        return f"{last}, the only value" + (f" ({points[0].time})" if len(points) == 1 else "")
    whole = f", {_text(chart, sum(known))} in all" if chart.unit in ("count", "usd") else ""
    return f"{last} throughout{whole}" if low == high else f"{last} at the end, between {low} and {high}{whole}"


def sentences(compared: list[Compared], a: str, b: str) -> list[Sentence]:
    """Each comparison in words, e.g. `median overhead per call 38 ms → 3.0 ms, 95 % interval 33 to 37 ms less`."""
    found = []
    for one in compared:
        change = one.difference
        counts = f"{fmt.number(change.a.samples)} {a}, {fmt.number(change.b.samples)} {b}"
        values = f"{fmt.duration(change.a.value)} → {fmt.duration(change.b.value)}"
        if not one.enough:
            few = f"{fmt.number(one.turns[0])} {a}, {fmt.number(one.turns[1])} {b}"
            found.append(Sentence(one.title, f"{values}: too few turns for a verdict ({few})", False))
            continue
        if not change.clear:
            interval = (
                f"95 % interval {fmt.duration(-change.low)} less to {fmt.duration(change.high)} more: no clear change"
            )
        elif change.change < 0:
            interval = f"95 % interval {fmt.duration(-change.high)} to {fmt.duration(-change.low)} less"
        else:
            interval = f"95 % interval {fmt.duration(change.low)} to {fmt.duration(change.high)} more"
        found.append(Sentence(one.title, f"{values}, {interval} ({counts})", one.clear))
    return found


def group_row(name: str, figures: Figures) -> GroupRow:
    tpot_ms = figures.percentile("tpot", 0.5)
    failed = figures.statuses["failed"] / figures.calls if figures.calls else None
    return GroupRow(
        name=fmt.one_line(name, 80) or "several or unknown",
        calls=fmt.number(figures.calls),
        turns=fmt.number(figures.turns),
        tokens_in=_tokens(figures, "input_tokens", figures.input_known),
        tokens_cached=_tokens(figures, "cached_tokens", figures.cached_known),
        tokens_out=_tokens(figures, "output_tokens", figures.output_known),
        ttft=f"{fmt.duration(figures.percentile('ttft', 0.5))} / {fmt.duration(figures.percentile('ttft', 0.95))}",
        overhead=fmt.duration(figures.percentile("overhead", 0.5)),
        rate=fmt.rate(1000 / tpot_ms if tpot_ms else None),
        cached=fmt.percent(figures.cache_ratio),
        suspect=sum(figures.suspect.values()),
        reused=fmt.percent(figures.reused_share),
        failed=fmt.percent(failed),
        good=fmt.percent(figures.goodput),
        cost=fmt.money(figures.cost_usd),
    )


def _tokens(figures: Figures, name: str, known: int) -> str:
    return fmt.marked(fmt.number(getattr(figures, name) if known else None), suspect=bool(figures.suspect[name]))


def _text(chart: Chart, value: float | None) -> str:
    match chart.unit:
        case "ms":
            return fmt.duration(value)
        case "rate":
            return fmt.rate(value)
        case "share":
            return fmt.percent(value)
        case "usd":
            return fmt.money(value)
        case _:
            return fmt.number(value)


def _marker(request: Request, hub: Hub, span: TimeRange) -> Marker | None:
    """The instant to compare at: of the URL, else the latest marker within the range."""
    asked = request.query_params.get("marker", "")
    try:
        at = datetime.fromisoformat(asked)
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        if 0 < at.timestamp() < 4_102_444_800:
            label = request.query_params.get("label", "")[:120] or "marked"
            return Marker(at.isoformat(), label)
    except (ValueError, OverflowError):
        pass
    within = [marker for marker in hub.settings.markers if span.since_s <= marker.at_s < span.until_s]
    return max(within, key=_at_s, default=None)


def _at_s(marker: Marker) -> float:
    return marker.at_s
