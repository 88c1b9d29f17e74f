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


def difference(a: Sketch, b: Sketch) -> Difference | None:
    """What changed from `a` to `b`; None if one has too few samples."""
    before, after = median(a), median(b)
    if before is None or after is None:
        return None
    change = after.value - before.value
    low = change - math.hypot(after.value - after.low, before.high - before.value)
    high = change + math.hypot(after.high - after.value, before.value - before.low)
    return Difference(before, after, change, low, high)
