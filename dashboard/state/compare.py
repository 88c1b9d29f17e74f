"""Two turns, or two models, side by side. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from agent_core.telemetry.events import Stage
from agent_core.telemetry.rollup.figures import Figures, is_good
from agent_core.telemetry.rollup.rollup import Rollup
from dashboard.state.format import duration, money, number, percent, rate, size
from dashboard.state.intervals import MIN_TURNS, difference, share_difference

Better = Literal["less", "more", "neither"]


class Measure(msgspec.Struct, frozen=True):
    """One row of a comparison: how to read it of `Figures`, how to write it, which direction is better."""

    key: str
    name: str
    read: Callable[[Figures], float | None]
    show: Callable[[float | None], str]
    better: Better
    interval: Callable[[Figures, Figures], tuple[float, float] | None] | None = None
    """95 % interval of the second minus the first, by figures; None: this measure has none, and so no verdict."""


Verdict = Literal["better", "worse", "unclear", "few", "unknown"]
"""`few`: less than `MIN_TURNS` turns on a side; `unclear`: the 95 % interval of the difference holds 0; `unknown`: the
measure has no better, or no interval."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """`change` is (b - a) / a; None where one is unknown or `a` is 0. `verdict` is of `b` against `a`."""

    measure: Measure
    a: float | None
    b: float | None
    change: float | None
    verdict: Verdict


def _stage(name: Stage) -> Callable[[Figures], float | None]:
    return lambda figures: figures.stages_ns[name] / 1_000_000 / figures.turns if figures.turns else None


def _percentile(name: str, q: float) -> Callable[[Figures], float | None]:
    return lambda figures: figures.percentile(name, q)


def _known(count: str, known: str) -> Callable[[Figures], float | None]:
    return lambda figures: getattr(figures, count) if getattr(figures, known) else None


def _output_rate(figures: Figures) -> float | None:
    tpot_ms = figures.percentile("tpot", 0.5)
    return 1000 / tpot_ms if tpot_ms else None


def _medians(sketch: str) -> Callable[[Figures, Figures], tuple[float, float] | None]:
    def interval(a: Figures, b: Figures) -> tuple[float, float] | None:
        found = difference(a.sketches[sketch], b.sketches[sketch])
        return None if found is None else (found.low, found.high)

    return interval


def _rates(a: Figures, b: Figures) -> tuple[float, float] | None:
    """A rate goes up as the time per token goes down."""
    found = difference(b.sketches["tpot"], a.sketches["tpot"])
    return None if found is None else (found.low, found.high)


def _good_turns(a: Figures, b: Figures) -> tuple[float, float] | None:
    return share_difference((a.turns_good, a.turns), (b.turns_good, b.turns))


def _reused_calls(a: Figures, b: Figures) -> tuple[float, float] | None:
    return share_difference((a.reuse["reused"], a.calls), (b.reuse["reused"], b.calls))


MEASURES: tuple[Measure, ...] = (
    Measure("turns", "turns", lambda figures: figures.turns, number, "neither"),
    Measure("goodput", "good turns", lambda figures: figures.goodput, percent, "more", _good_turns),
    Measure("turn", "turn p50", _percentile("turn_duration", 0.5), duration, "less", _medians("turn_duration")),
    Measure("inference", "inference per turn", _stage("inference"), duration, "less"),
    Measure("tools", "tools per turn", _stage("client_tool"), duration, "less"),
    Measure("overhead", "overhead per turn", _stage("api_overhead"), duration, "less"),
    Measure("approval", "approval per turn", _stage("approval"), duration, "less"),
    Measure("other", "other per turn", _stage("client_other"), duration, "less"),
    Measure("calls", "calls", lambda figures: figures.calls, number, "neither"),
    Measure("ttft", "ttft p50", _percentile("ttft", 0.5), duration, "less", _medians("ttft")),
    Measure("ttft_p95", "ttft p95", _percentile("ttft", 0.95), duration, "less"),
    Measure(
        "call_overhead", "overhead per call p50", _percentile("overhead", 0.5), duration, "less", _medians("overhead")
    ),
    Measure("rate", "tok/s p50", _output_rate, rate, "more", _rates),
    Measure("in", "in", _known("input_tokens", "input_known"), number, "neither"),
    Measure("cached", "cached share", lambda figures: figures.cache_ratio, percent, "more"),
    Measure("out", "out", _known("output_tokens", "output_known"), number, "neither"),
    Measure("reused", "reused share", lambda figures: figures.reused_share, percent, "more", _reused_calls),
    Measure("up", "bytes up", lambda figures: figures.bytes_up if figures.creates else None, size, "neither"),
    Measure("cost", "cost", lambda figures: figures.cost_usd, money, "neither"),
)


def figures_of_turn(rollup: Rollup, turn: str) -> Figures:
    """A turn's own figures; those of a running turn count its ended calls."""
    figures = Figures()
    row = rollup.turns.get(turn)
    if row is None:
        return figures
    calls = [call for name in row.calls if (call := rollup.calls.get(name)) is not None]
    for call in calls:
        if call.status is not None:
            figures.add_call(call)
    figures.add_turn(row, good=is_good(row, calls, rollup.targets))
    return figures


def compare(a: Figures, b: Figures) -> list[Compared]:
    """Every measure that at least one side knows."""
    compared = []
    for measure in MEASURES:
        first, second = measure.read(a), measure.read(b)
        if first is None and second is None:
            continue
        change = None if first is None or second is None or not first else (second - first) / first
        verdict = _verdict(measure, a, b) if first is not None and second is not None else "unknown"
        compared.append(Compared(measure=measure, a=first, b=second, change=change, verdict=verdict))
    return compared


def _verdict(measure: Measure, a: Figures, b: Figures) -> Verdict:
    if measure.better == "neither" or measure.interval is None:
        return "unknown"
    if min(a.turns, b.turns) < MIN_TURNS:
        return "few"
    interval = measure.interval(a, b)
    if interval is None or interval[0] <= 0 <= interval[1]:
        return "unclear"
    return "better" if (interval[1] < 0) == (measure.better == "less") else "worse"
