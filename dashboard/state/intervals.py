"""Medians with 95 % confidence intervals, and differences of medians, from sketches. Pure.

The interval of a median is that of order statistics: the samples whose ranks lie 1.96 standard deviations of a binomial
about the middle. The interval of a difference recovers the variances from both (MOVER, Zou and Donner 2008). Samples
count as independent; calls of one session are not quite, so that the intervals are somewhat too narrow.
"""

from __future__ import annotations

import math

import msgspec

from agent_core.telemetry.rollup.sketch import Sketch

Z = 1.96
MIN_SAMPLES = 8
"""Fewer give no interval of a median that is worth the name."""

MIN_TURNS = 5
"""Fewer on either side of a comparison allow no verdict, however many calls they made: those of one turn are alike."""


class Median(msgspec.Struct, frozen=True):
    value: float
    low: float
    high: float
    samples: int


class Difference(msgspec.Struct, frozen=True):
    """Median `b` minus median `a`, with its interval."""

    a: Median
    b: Median
    change: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def median(sketch: Sketch) -> Median | None:
    """None with less than `MIN_SAMPLES`."""
    n = sketch.count
    if n < MIN_SAMPLES:
        return None
    half = Z * math.sqrt(n) / 2
    low, high = max(0, math.floor(n / 2 - half)), min(n - 1, math.ceil(n / 2 + half))
    value, first, last = (sketch.quantile(rank / (n - 1)) for rank in ((n - 1) / 2, low, high))
    if value is None or first is None or last is None:
        return None
    return Median(value, first, last, n)


def share_difference(a: tuple[int, int], b: tuple[int, int]) -> tuple[float, float] | None:
    """95 % interval of share `b` minus share `a`, each (of them, all): Newcombe's by Wilson scores; None if one is of
    nothing."""
    if not a[1] or not b[1]:
        return None
    low_a, high_a = _wilson(*a)
    low_b, high_b = _wilson(*b)
    share_a, share_b = a[0] / a[1], b[0] / b[1]
    change = share_b - share_a
    return (
        change - math.hypot(share_b - low_b, high_a - share_a),
        change + math.hypot(high_b - share_b, share_a - low_a),
    )


def _wilson(part: int, whole: int) -> tuple[float, float]:
    share, square = part / whole, Z * Z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    half = Z / (1 + square / whole) * math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
    return middle - half, middle + half


def difference(a: Sketch, b: Sketch) -> Difference | None:
    """What changed from `a` to `b`; None if one has too few samples."""
    before, after = median(a), median(b)
    if before is None or after is None:
        return None
    change = after.value - before.value
    low = change - math.hypot(after.value - after.low, before.high - before.value)
    high = change + math.hypot(after.high - after.value, before.value - before.low)
    return Difference(before, after, change, low, high)
