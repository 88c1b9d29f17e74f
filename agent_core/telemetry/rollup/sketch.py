"""A mergeable percentile sketch with a bounded relative error. Pure.

Logarithmic buckets (the DDSketch scheme, Masson, Rim and Lee 2019): bucket i holds values in (g^(i-1), g^i] with g =
(1 + e) / (1 - e), and stands for a value that is at most e (1 % here) away from each of them. Merging adds counts, so
the result does not depend on how the samples were spread over sketches or on their order. Samples can be taken back,
which a corrected figure needs.
"""

from __future__ import annotations

import math

ERROR = 0.01
"""Relative error of percentiles: a p95 of 100 ms is a sample between 99 and 101 ms."""
GAP_ERROR = 0.05
"""Relative error of chunk gaps, whose buckets travel in every `call.completed`: a wider bucket keeps that event small.
"""
_SMALLEST, _LARGEST = 1e-6, 1e12


class Sketch:
    """Counts of non-negative values. Below 1e-6 counts as 0, above 1e12 as 1e12; negative and NaN are refused."""

    __slots__ = ("_buckets", "_log_gamma", "count", "error")

    def __init__(self, error: float = ERROR, buckets: dict[int, int] | None = None) -> None:
        """`buckets` is what `to_buckets` gave, for a sketch of the same error."""
        self.error = error
        self._log_gamma = math.log((1 + error) / (1 - error))
        self._buckets: dict[int, int] = dict(buckets or {})
        self.count = sum(self._buckets.values())

    def add(self, value: float, times: int = 1) -> None:
        """Count `value`; negative `times` takes samples back that were added before, here or in what this is merged
        into."""
        if not value >= 0:
            raise ValueError(f"a sketch takes values from 0 up, got {value}")
        key = self._key(value)
        left = self._buckets.get(key, 0) + times
        if left:
            self._buckets[key] = left
        else:
            self._buckets.pop(key, None)
        self.count += times

    def merge(self, other: Sketch, sign: int = 1) -> None:
        if other.error != self.error:
            raise ValueError("sketches of different error can't be merged")
        for key, times in other._buckets.items():
            left = self._buckets.get(key, 0) + sign * times
            if left:
                self._buckets[key] = left
            else:
                self._buckets.pop(key, None)
        self.count += sign * other.count

    def quantile(self, q: float) -> float | None:
        """The sample of rank floor(q * (n - 1)) in ascending order, within `error`; None without samples."""
        if self.count <= 0:
            return None
        rank = math.floor(q * (self.count - 1))
        seen = 0
        key = _ZERO
        for key in sorted(self._buckets):
            seen += self._buckets[key]
            if seen > rank:
                break
        return self._value(key)

    def values(self) -> list[tuple[float, int]]:
        """(representative value, count) in ascending order, for exporters that keep histograms of their own."""
        return [(self._value(key), self._buckets[key]) for key in sorted(self._buckets)]

    def to_buckets(self) -> dict[int, int]:
        return dict(self._buckets)

    def _key(self, value: float) -> int:
        if value < _SMALLEST:
            return _ZERO
        return math.ceil(math.log(min(value, _LARGEST)) / self._log_gamma)

    def _value(self, key: int) -> float:
        if key == _ZERO:
            return 0.0
        return math.exp(key * self._log_gamma) * (1 - self.error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and (self.error, self._buckets) == (other.error, other._buckets)

    __hash__ = None  # type: ignore[assignment]


_ZERO = -(1 << 31)
"""The bucket of zero: below every bucket of a positive value."""
