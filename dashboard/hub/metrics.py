"""The hub's own counters and a team's figures since the hub began, in Prometheus' text format. Pure.

Labels are bounded: models come through `names`, the rest are words of ours. Names follow the OpenTelemetry GenAI
conventions v0.1.0 as Prometheus spells them; what those lack has the prefix `loopline_`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from agent_core.telemetry.export.prometheus import Labels, family, head, histogram
from agent_core.telemetry.rollup.figures import OTHER, Figures
from agent_core.telemetry.rollup.prices import NANO
from agent_core.telemetry.rollup.sketch import Sketch
from agent_core.telemetry.rollup.stages import STAGES
from dashboard.hub.store.records import Cell, Dims

SECONDS = tuple(0.01 * 2**n for n in range(14))
"""Buckets that the conventions set for durations: 0.01 s to 81.92 s."""
GAP_SECONDS = (0.001, 0.002, 0.005, *SECONDS)
"""For gaps between chunks, where 10 ms is too coarse."""
MAX_GROUPS = 400

Group = tuple[str, str, str]
"""(team, model, transport)."""


class Counters(msgspec.Struct):
    """What the hub did since it began."""

    events: int = 0
    batches: int = 0
    repeated: int = 0
    """Events that were known."""
    late: int = 0
    """Events that came behind later ones of their source and were not kept."""
    passed_over: int = 0
    """Events of types this version does not know."""
    unfit: int = 0
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    """By code; codes are words of ours."""


class Since:
    """Figures by group since the hub began; they only grow."""

    def __init__(self) -> None:
        self.groups: dict[Group, Figures] = {}
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """Calls by (team, reuse outcome)."""

    def add(self, team: str, dims: Dims, cell: Cell) -> None:
        group = (team, dims.model or "unknown", dims.transport or "unknown")
        if group not in self.groups and len(self.groups) >= MAX_GROUPS:
            group = (team, OTHER, group[2])
        self.groups.setdefault(group, Figures()).merge(cell.figures)
        for outcome, count in cell.figures.reuse.items():
            self.outcomes[(team, outcome)] += count


def exposition(since: Since, team: str | None, own: Mapping[str, float], counters: Counters) -> str:
    """All metrics that who sees `team` (None: all teams) may see."""
    groups = [(_labels(group), figures) for group, figures in since.groups.items() if team in (None, group[0])]
    lines: list[str] = []
    for name, about, sketch, bounds in _HISTOGRAMS:
        lines += head(name, "histogram", about)
        for labels, figures in groups:
            lines += _histogram(name, labels, _sketch(figures, sketch), bounds)
    for name, about, field in _COUNTERS:
        lines += family(name, "counter", about, [(labels, getattr(figures, field)) for labels, figures in groups])
    cost = [(labels, figures.cost_nano / NANO) for labels, figures in groups]
    lines += family("loopline_cost_usd_total", "counter", "Cost at list prices, estimated.", cost)
    suspect = [
        ({**labels, "figure": name}, count) for labels, figures in groups for name, count in figures.suspect.items()
    ]
    about = "Reported figures of calls that cannot be right."
    lines += family("loopline_suspect_figures_total", "counter", about, suspect)
    turns = [
        ({**labels, "status": status}, count)
        for labels, figures in groups
        for status, count in figures.turn_statuses.items()
    ]
    lines += family("loopline_turns_total", "counter", "Ended turns by status.", turns)
    stages = [
        ({**labels, "stage": stage}, figures.stages_ns[stage] / 1e9) for labels, figures in groups for stage in STAGES
    ]
    lines += family("loopline_turn_stage_seconds_total", "counter", "Time of ended turns by stage.", stages)
    outcomes = [
        ({"team": owner, "outcome": outcome}, count)
        for (owner, outcome), count in since.outcomes.items()
        if team in (None, owner)
    ]
    about = "Calls by what became of their chain."
    lines += family("loopline_connection_state_total", "counter", about, outcomes)
    lines += _own(own, counters)
    return "\n".join(lines) + "\n"


_HISTOGRAMS = (
    ("gen_ai_client_inference_duration_seconds", "Duration of model calls.", "duration", SECONDS),
    ("gen_ai_client_inference_time_to_first_chunk_seconds", "Send to first delta of any channel.", "ttft", SECONDS),
    ("gen_ai_client_inference_time_per_output_chunk_seconds", "Gaps between deltas.", "gap", GAP_SECONDS),
    ("gen_ai_invoke_agent_duration_seconds", "Duration of turns.", "turn_duration", SECONDS),
)
_COUNTERS = (
    ("gen_ai_client_inference_usage_input_tokens_total", "Input tokens, cached ones included.", "input_tokens"),
    ("gen_ai_client_inference_usage_output_tokens_total", "Output tokens, reasoning included.", "output_tokens"),
    ("gen_ai_client_inference_usage_cache_read_input_tokens_total", "Cached part of the input.", "cached_tokens"),
    ("gen_ai_client_inference_usage_cache_write_input_tokens_total", "Written to the cache.", "cache_write_tokens"),
    (
        "gen_ai_client_inference_usage_reasoning_output_tokens_total",
        "Reasoning part of the output.",
        "reasoning_tokens",
    ),
    ("loopline_calls_total", "Ended calls.", "calls"),
    ("loopline_bytes_up_total", "Bytes of create frames.", "bytes_up"),
)


def _sketch(figures: Figures, name: str) -> Sketch:
    return figures.gaps if name == "gap" else figures.sketches[name]


def _histogram(name: str, labels: Labels, sketch: Sketch, bounds: Iterable[float]) -> Iterator[str]:
    values = [(value / 1000, count) for value, count in sketch.values()]
    within: list[tuple[float | None, int]] = [
        (bound, sum(count for value, count in values if value <= bound)) for bound in bounds
    ]
    total = sum(value * count for value, count in values)
    yield from histogram(name, labels, [*within, (None, sketch.count)], total, sketch.count)


def _own(own: Mapping[str, float], counters: Counters) -> Iterator[str]:
    for name, value in own.items():
        yield from family(f"loopline_hub_{name}", "gauge", "", [({}, value)])
    for name in ("events", "batches", "repeated", "passed_over", "unfit"):
        yield from family(f"loopline_hub_{name}_total", "counter", "", [({}, getattr(counters, name))])
    refused = [({"code": code}, count) for code, count in counters.refused.items()]
    yield from family("loopline_hub_refused_total", "counter", "", refused)


def _labels(group: Group) -> Labels:
    team, model, transport = group
    return {"team": team, "gen_ai_request_model": model, "transport": transport}
