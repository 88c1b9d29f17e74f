"""Edges of the percentile sketch; its laws are in tests/property."""

from __future__ import annotations

import pytest

from agent_core.telemetry.rollup.sketch import GAP_ERROR, Sketch


def test_nothing_has_no_percentile() -> None:
    assert Sketch().quantile(0.5) is None


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("-inf")])
def test_negative_and_nan_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="0 up"):
        Sketch().add(value)


def test_zero_and_infinity_have_buckets() -> None:
    sketch = Sketch()
    sketch.add(0.0)
    sketch.add(float("inf"))
    assert sketch.quantile(0.0) == 0.0
    assert sketch.quantile(1.0) == pytest.approx(1e12, rel=0.01)


def test_sketches_of_different_error_do_not_merge() -> None:
    with pytest.raises(ValueError, match="different error"):
        Sketch().merge(Sketch(GAP_ERROR))


def test_size_is_bounded_by_the_range_not_by_the_samples() -> None:
    sketch = Sketch(GAP_ERROR)
    for number in range(20_000):
        sketch.add(0.001 * 1.003**number)
    assert len(sketch.to_buckets()) < 450
