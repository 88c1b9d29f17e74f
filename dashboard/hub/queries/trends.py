"""Roll-up cells as series, groups and comparisons. Pure: cells are handed in, nothing scans single events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Literal

import msgspec

from agent_core.telemetry.rollup.figures import OTHER, Figures
from agent_core.telemetry.rollup.sketch import Sketch
from dashboard.hub.people.names import person_of
from dashboard.hub.store.records import LEVELS, Cell, Dims, Level
from dashboard.state.intervals import MIN_TURNS, Difference, difference


class TeamDims(Dims, frozen=True, order=True, array_like=True):
    """What a row is about, with the team it is of."""

    team: str = ""


Row = tuple[int, Dims, Cell]
"""(start of the bucket in s, what it is about, figures)."""
SPLITS: tuple[str, ...] = ("model", "agent", "client", "version", "project", "person", "team", "transport")
MAX_POINTS = 400
MAX_GROUPS = 6
"""Lines of one chart; the rest goes together as `other`."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Cells to look at; "" matches all."""

    model: str = ""
    agent: str = ""
    client: str = ""
    version: str = ""
    project: str = ""
    person: str = ""
    team: str = ""
    transport: str = ""

    def __call__(self, dims: Dims) -> bool:
        return all(getattr(self, name) in ("", part(dims, name)) for name in self.__struct_fields__)


def part(dims: Dims, split: str) -> str:
    """What a row is about under one of `SPLITS`; "" is unknown."""
    if split == "person":
        return person_of(dims.agent)
    return getattr(dims, split, "")


class Point(msgspec.Struct, frozen=True):
    """A bucket; `values` by chart line, None where nothing is known."""

    at_s: int
    values: tuple[float | None, ...]


class Chart(msgspec.Struct, frozen=True):
    """A measure over time: `lines` name the values of each point. `unit` is how to write them."""

    key: str
    title: str
    unit: Literal["ms", "rate", "share", "usd", "count"]
    lines: tuple[str, ...]
    points: tuple[Point, ...]
    band: bool = False
    """The second line is the upper edge of a band over the first."""


class _Measure(msgspec.Struct, frozen=True):
    key: str
    title: str
    unit: Literal["ms", "rate", "share", "usd", "count"]
    lines: tuple[tuple[str, Callable[[Figures], float | None]], ...]
    band: bool = False
    each: bool = False
    """Split by a name, each line is a chart of its own; else the first line stands for the measure."""


def level_for(since_s: float, until_s: float) -> Level:
    """The finest level that gives at most `MAX_POINTS` buckets."""
    for level in LEVELS:
        if (until_s - since_s) / level <= MAX_POINTS:
            return level
    return LEVELS[-1]


def chosen(rows: Iterable[Row], wanted: Filter) -> list[Row]:
    return [row for row in rows if wanted(row[1])]


def total(rows: Iterable[Row]) -> Cell:
    merged = Cell()
    for _, _, cell in rows:
        merged.merge(cell)
    return merged


def grouped(rows: Iterable[Row], split: str, limit: int = MAX_GROUPS) -> dict[str, Cell]:
    """Cells by a field of their dims, those with most calls first; the rest together as `other`."""
    groups: dict[str, Cell] = {}
    for _, dims, cell in rows:
        groups.setdefault(part(dims, split), Cell()).merge(cell)
    ordered = sorted(groups.items(), key=_by_calls)
    kept = dict(ordered[:limit])
    for _, cell in ordered[limit:]:
        kept.setdefault(OTHER, Cell()).merge(cell)
    return kept


def charts(rows: list[Row], level: Level) -> list[Chart]:
    """Every measure over time; a bucket without cells is a gap."""
    buckets: dict[int, Figures] = {}
    for bucket, _, cell in rows:
        buckets.setdefault(bucket // level * level, Figures()).merge(cell.figures)
    found = []
    for measure in _MEASURES:
        points = tuple(
            Point(at_s, tuple(read(figures) for _, read in measure.lines)) for at_s, figures in sorted(buckets.items())
        )
        if any(value is not None for point in points for value in point.values):
            lines = tuple(name for name, _ in measure.lines)
            found.append(Chart(measure.key, measure.title, measure.unit, lines, points, measure.band))
    return found


def split_charts(rows: list[Row], level: Level, split: str) -> list[Chart]:
    """The first line of every measure, one per group; of a measure whose lines stand side by side, each of them."""
    names = list(grouped(rows, split))
    buckets: dict[int, dict[str, Figures]] = {}
    for bucket, dims, cell in rows:
        name = part(dims, split)
        name = name if name in names else OTHER
        at = buckets.setdefault(bucket // level * level, {})
        at.setdefault(name, Figures()).merge(cell.figures)
    found = []
    shown = tuple(name or "unknown" for name in names)
    for measure in _MEASURES:
        for line, read in measure.lines if measure.each else measure.lines[:1]:
            points = tuple(
                Point(at_s, tuple(read(groups[name]) if name in groups else None for name in names))
                for at_s, groups in sorted(buckets.items())
            )
            if any(value is not None for point in points for value in point.values):
                key = f"{measure.key}.{line}" if measure.each else measure.key
                title = f"{measure.title}: {line}" if measure.each else measure.title
                found.append(Chart(key, title, measure.unit, shown, points))
    return found


class Compared(msgspec.Struct, frozen=True):
    """One measure before and after, or here and there."""

    title: str
    difference: Difference
    turns: tuple[int, int]
    """On either side."""

    @property
    def enough(self) -> bool:
        return min(self.turns) >= MIN_TURNS

    @property
    def clear(self) -> bool:
        """Whether there is a verdict: enough turns on both sides, and an interval that leaves out 0."""
        return self.enough and self.difference.clear


COMPARED: tuple[tuple[str, str], ...] = (
    ("overhead", "median overhead per call"),
    ("ttft", "median time to first token"),
    ("duration", "median call"),
    ("turn_duration", "median turn"),
)


def compared(a: Figures, b: Figures) -> list[Compared]:
    """The measures that have enough samples on both sides."""
    found = []
    for key, title in COMPARED:
        change = difference(a.sketches[key], b.sketches[key])
        if change is not None:
            found.append(Compared(title, change, (a.turns, b.turns)))
    return found


def before_and_after(rows: list[Row], at_s: float) -> list[Compared]:
    """Cells that end before an instant against those that start after it; the bucket it falls into counts nowhere."""
    level = min((later - earlier for earlier, later in pairwise(sorted({row[0] for row in rows}))), default=60)
    before = total(row for row in rows if row[0] + level <= at_s).figures
    after = total(row for row in rows if row[0] >= at_s).figures
    return compared(before, after)


def websocket_and_http(rows: list[Row]) -> list[Compared]:
    """Calls over HTTP against calls over WebSocket, as a ramp with `websocket_share` draws them."""
    http = total(row for row in rows if row[1].transport == "http").figures
    socket = total(row for row in rows if row[1].transport == "websocket").figures
    return compared(http, socket)


def names(rows: Iterable[Row]) -> dict[str, list[str]]:
    """What there is to filter by, in order."""
    found: dict[str, set[str]] = {split: set() for split in SPLITS}
    for _, dims, _ in rows:
        for split in SPLITS:
            if name := part(dims, split):
                found[split].add(name)
    return {split: sorted(values) for split, values in found.items()}


def time_saved_ms(rows: list[Row]) -> float | None:
    """Computed: the calls that continued their chain, times what a call that did not costs more at the median.

    None without both kinds of calls, or if the difference is not clear.
    """
    continued, anew, count = Sketch(), Sketch(), 0
    for _, dims, cell in rows:
        if dims.reuse == "reused":
            continued.merge(cell.figures.sketches["overhead"])
            count += cell.figures.calls
        elif dims.reuse:
            anew.merge(cell.figures.sketches["overhead"])
    found = difference(continued, anew)
    return None if found is None or not found.clear or found.change <= 0 else found.change * count


def _percentile(name: str, q: float) -> Callable[[Figures], float | None]:
    return lambda figures: figures.percentile(name, q)


def _spread(name: str, title: str) -> _Measure:
    """p50 and, as the edge of a band, p95."""
    return _Measure(name, title, "ms", (("p50", _percentile(name, 0.5)), ("p95", _percentile(name, 0.95))), band=True)


def _rate(figures: Figures) -> float | None:
    tpot_ms = figures.percentile("tpot", 0.5)
    return 1000 / tpot_ms if tpot_ms else None


def _overhead_share(figures: Figures) -> float | None:
    return figures.stages_ns["api_overhead"] / figures.turn_ns if figures.turn_ns else None


def _failed_share(figures: Figures) -> float | None:
    return figures.statuses["failed"] / figures.calls if figures.calls else None


def _calls(figures: Figures) -> float | None:
    return float(figures.calls) if figures.calls else None


def _tokens(name: str, known: str) -> Callable[[Figures], float | None]:
    return lambda figures: float(getattr(figures, name)) if getattr(figures, known) else None


_MEASURES: tuple[_Measure, ...] = (
    _Measure(
        "tokens",
        "Tokens",
        "count",
        (
            ("input", _tokens("input_tokens", "input_known")),
            ("cached", _tokens("cached_tokens", "cached_known")),
            ("output", _tokens("output_tokens", "output_known")),
        ),
        each=True,
    ),
    _Measure("cost", "Cost", "usd", (("usd", lambda figures: figures.cost_usd),)),
    _spread("ttft", "Time to first token"),
    _spread("overhead", "Overhead per call"),
    _spread("tpot", "Time per token"),
    _Measure("rate", "Output rate", "rate", (("p50", _rate),)),
    _Measure("cache", "Cached share of input", "share", (("share", lambda figures: figures.cache_ratio),)),
    _Measure("reuse", "Calls that continued their chain", "share", (("share", lambda figures: figures.reused_share),)),
    _Measure("overhead_share", "Overhead share of turns", "share", (("share", _overhead_share),)),
    _Measure("failed", "Failed calls", "share", (("share", _failed_share),)),
    _Measure("goodput", "Turns within targets", "share", (("share", lambda figures: figures.goodput),)),
    _Measure("calls", "Calls", "count", (("calls", _calls),)),
)  # fmt: skip


def _by_calls(item: tuple[str, Cell]) -> tuple[int, str]:
    return -item[1].figures.calls, item[0]
