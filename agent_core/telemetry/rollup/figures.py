"""Sums and percentiles over calls and turns: mergeable, and exact to take back. Pure.

One `Figures` holds any grouping (everything, a session, a model, a minute). A call or turn that is corrected later is
taken out with the row it was added with, and added anew.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from agent_core.telemetry.events import Stage
from agent_core.telemetry.rollup.prices import NANO
from agent_core.telemetry.rollup.rows import CallRow, TurnRow
from agent_core.telemetry.rollup.sketch import GAP_ERROR, Sketch
from agent_core.telemetry.rollup.stages import STAGES, ms_to_ns

OTHER = "other"
"""What is counted together beyond a limit, so that names from outside can't make groups without end
(BerriAI/litellm#39136)."""
MAX_ERRORS = 64


class Targets(msgspec.Struct, frozen=True):
    """What a user calls good, in ms; None: no target. A figure is good up to and including its target."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    overhead_ms: float | None = None
    turn_ms: float | None = None


def is_good(turn: TurnRow, calls: list[CallRow], targets: Targets) -> bool:
    """A completed turn that met every target with every call. A figure that can't be known (one token has no TPOT)
    fails nothing."""
    if turn.status != "completed" or _over(turn.duration_ms, targets.turn_ms):
        return False
    return not any(
        _over(call.ttft_ms, targets.ttft_ms)
        or _over(call.tpot_ms, targets.tpot_ms)
        or _over(call.overhead_ms, targets.overhead_ms)
        for call in calls
        if not call.warmup
    )


def _over(value: float | None, target: float | None) -> bool:
    return value is not None and target is not None and value > target


_TIMES = (
    ("ttft", "ttft_ms"),
    ("visible_ttft", "visible_ttft_ms"),
    ("tpot", "tpot_ms"),
    ("duration", "duration_ms"),
    ("overhead", "overhead_ms"),
)
"""Sketch and the figure of a call that it samples."""


class Figures:
    """Counts of ended calls and turns. Warm-ups count in `warmups`, `bytes_up` and `creates` only: their usage
    answers nobody.

    Token sums are over the calls that report them, as reported; `input_known`, `cached_known`, `output_known` and
    `cost_known` say how many do, `cost_unknown` how many have no price. `suspect` counts, by figure, the calls whose
    figure cannot be right, `usage_suspect` those with one of their counts; such a time enters no percentile and such a
    cost no sum. `bytes_down` is all that came for calls; `bytes_saved` what their chains spared, over
    `bytes_saved_calls` calls. `turns_good`: those that met the targets.
    `cacheable_*` are the sums of those calls that report input and cached tokens plausibly; only they enter the cache
    ratio.
    """

    COUNTS = (
        "calls", "warmups", "creates", "bytes_up", "bytes_down", "bytes_saved", "bytes_saved_calls", "input_tokens",
        "cacheable_input_tokens", "cacheable_cached_tokens", "cached_tokens", "cache_write_tokens", "output_tokens",
        "reasoning_tokens",
        "input_known", "cached_known", "output_known", "usage_suspect", "cost_nano", "cost_known", "cost_unknown",
        "inference_ns", "overhead_ns", "turns", "turns_good", "turn_ns",
    )  # fmt: skip
    SKETCHES = (
        "ttft",
        "visible_ttft",
        "tpot",
        "duration",
        "overhead",
        "turn_duration",
        "turn_ttft",
        "turn_visible_ttft",
    )
    """Percentiles in ms."""

    __slots__ = (*COUNTS, "errors", "gaps", "reuse", "sketches", "stages_ns", "statuses", "suspect", "turn_statuses")

    calls: int
    warmups: int
    creates: int
    bytes_up: int
    bytes_down: int
    bytes_saved: int
    bytes_saved_calls: int
    input_tokens: int
    cacheable_input_tokens: int
    cacheable_cached_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    input_known: int
    cached_known: int
    output_known: int
    usage_suspect: int
    cost_nano: int
    cost_known: int
    cost_unknown: int
    inference_ns: int
    overhead_ns: int
    turns: int
    turns_good: int
    turn_ns: int

    def __init__(self) -> None:
        for name in self.COUNTS:
            setattr(self, name, 0)
        self.statuses: Counter[str] = Counter()
        self.turn_statuses: Counter[str] = Counter()
        self.reuse: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.suspect: Counter[str] = Counter()
        self.stages_ns: Counter[Stage] = Counter()
        self.sketches = {name: Sketch() for name in self.SKETCHES}
        self.gaps = Sketch(GAP_ERROR)

    def add_call(self, row: CallRow, sign: int = 1) -> None:
        """Count an ended call; `sign` -1 takes the same row out again."""
        self.creates += sign * row.attempts
        self.bytes_up += sign * row.bytes_up
        self.bytes_down += sign * (row.bytes_down or 0)
        if row.warmup:
            self.warmups += sign
            return
        self.calls += sign
        _count(self.statuses, row.status, sign)
        _count(self.reuse, row.reuse, sign)
        _count(self.errors, self._error_group(row.error_code), sign)
        if row.bytes_saved is not None:
            self.bytes_saved += sign * row.bytes_saved
            self.bytes_saved_calls += sign
        self._add_usage(row, sign)
        if not row.times_suspect:
            self.inference_ns += sign * ms_to_ns(min(row.inference_ms or 0.0, row.duration_ms or 0.0))
        self.overhead_ns += sign * ms_to_ns(row.overhead_ms or 0.0)
        for name in row.suspect:
            _count(self.suspect, name, sign)
        for sample, figure in _TIMES:
            if figure not in row.suspect:
                self._sample(sample, getattr(row, figure), sign)
        if row.chunk_gaps:
            self.gaps.merge(Sketch(GAP_ERROR, row.chunk_gaps), sign)

    def add_turn(self, row: TurnRow, good: bool, sign: int = 1) -> None:
        """Count an ended turn; `sign` -1 takes it out again."""
        self.turns += sign
        self.turns_good += sign * good
        self.turn_ns += sign * row.duration_ns
        _count(self.turn_statuses, row.status, sign)
        for stage, ns in row.stages_ns.items():
            self.stages_ns[stage] += sign * ns
        self._sample("turn_duration", row.duration_ms, sign)
        self._sample("turn_ttft", row.ttft_ms, sign)
        self._sample("turn_visible_ttft", row.visible_ttft_ms, sign)

    def merge(self, other: Figures) -> None:
        for name in self.COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in (
            (self.statuses, other.statuses),
            (self.turn_statuses, other.turn_statuses),
            (self.reuse, other.reuse),
            (self.errors, other.errors),
            (self.suspect, other.suspect),
        ):
            mine.update(theirs)
        for stage, ns in other.stages_ns.items():
            self.stages_ns[stage] += ns
        for name, sketch in other.sketches.items():
            self.sketches[name].merge(sketch)
        self.gaps.merge(other.gaps)

    def percentile(self, name: str, q: float) -> float | None:
        """A percentile in ms of one of `SKETCHES`, or of `gap` (between deltas); None without samples."""
        return self.gaps.quantile(q) if name == "gap" else self.sketches[name].quantile(q)

    @property
    def cache_ratio(self) -> float | None:
        """Token-weighted: cached / input over the calls that report both; None if none does."""
        return self.cacheable_cached_tokens / self.cacheable_input_tokens if self.cacheable_input_tokens else None

    @property
    def cost_usd(self) -> float | None:
        """Sum over the calls whose cost is known (`cost_known`; `cost_unknown` are left out); None if none is."""
        return self.cost_nano / NANO if self.cost_known else None

    @property
    def reused_share(self) -> float | None:
        """Calls that continued their chain / calls of which it is known; None without any."""
        known = sum(self.reuse.values())
        return self.reuse["reused"] / known if known else None

    @property
    def goodput(self) -> float | None:
        """Good turns / ended turns; None without turns."""
        return self.turns_good / self.turns if self.turns else None

    @property
    def stages_ms(self) -> dict[str, float]:
        return {stage: self.stages_ns[stage] / 1_000_000 for stage in STAGES}

    def _error_group(self, code: str | None) -> str | None:
        """Codes come from outside: beyond `MAX_ERRORS` different ones they are counted together."""
        return code if code is None or code in self.errors or len(self.errors) < MAX_ERRORS else OTHER

    def _add_usage(self, row: CallRow, sign: int) -> None:
        self.input_known += sign * (row.input_tokens is not None)
        self.cached_known += sign * (row.cached_tokens is not None)
        self.output_known += sign * (row.output_tokens is not None)
        self.usage_suspect += sign * row.usage_suspect
        if row.cache_ratio is not None:
            self.cacheable_input_tokens += sign * (row.input_tokens or 0)
            self.cacheable_cached_tokens += sign * (row.cached_tokens or 0)
        self.input_tokens += sign * (row.input_tokens or 0)
        self.cached_tokens += sign * (row.cached_tokens or 0)
        self.cache_write_tokens += sign * (row.cache_write_tokens or 0)
        self.output_tokens += sign * (row.output_tokens or 0)
        self.reasoning_tokens += sign * (row.reasoning_tokens or 0)
        if row.cost_usd is None or "cost_usd" in row.suspect:
            self.cost_unknown += sign
        else:
            self.cost_known += sign
            self.cost_nano += sign * round(row.cost_usd * NANO)

    def _sample(self, name: str, value: float | None, sign: int) -> None:
        if value is not None:
            self.sketches[name].add(value, sign)


def _count(counter: Counter[str], key: str | None, sign: int) -> None:
    if key is None:
        return
    counter[key] += sign
    if not counter[key]:
        del counter[key]
