"""Aggregates of measurements."""

import math


def mean(values):
    """Arithmetic mean; 0.0 for no values."""
    return sum(values) / len(values)


def spread(values):
    """Standard deviation of a sample; 0.0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1))


def percentile(values, share):
    """Nearest-rank percentile, `share` from 0 to 100."""
    ordered = sorted(values)
    rank = max(1, math.ceil(share / 100 * len(ordered)))
    return ordered[rank - 1]
