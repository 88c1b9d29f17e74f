"""Percentile sketches: bounded error, merging and taking back."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.telemetry.rollup.sketch import ERROR, GAP_ERROR, Sketch

values = st.one_of(st.just(0.0), st.floats(1e-6, 1e12), st.floats(0.1, 1000.0))
samples = st.lists(values, min_size=1, max_size=60)
quantiles = st.one_of(st.sampled_from([0.0, 0.5, 0.95, 1.0]), st.floats(0, 1))


@settings(max_examples=200, deadline=None)
@given(samples, quantiles, st.sampled_from([ERROR, GAP_ERROR]))
def test_a_percentile_is_a_sample_within_the_relative_error(given_: list[float], q: float, error: float) -> None:
    sketch = Sketch(error)
    for value in given_:
        sketch.add(value)
    true = sorted(given_)[math.floor(q * (len(given_) - 1))]
    found = sketch.quantile(q)
    assert found is not None
    assert abs(found - true) <= true * error * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(samples, max_size=4))
def test_merging_equals_adding_everything_to_one(parts: list[list[float]]) -> None:
    whole, merged = Sketch(), Sketch()
    for part in parts:
        piece = Sketch()
        for value in part:
            whole.add(value)
            piece.add(value)
        merged.merge(piece)
    assert merged == whole
    assert merged.count == sum(len(part) for part in parts)


@settings(max_examples=100, deadline=None)
@given(samples, samples)
def test_samples_taken_back_leave_no_trace(kept: list[float], taken: list[float]) -> None:
    sketch, expected = Sketch(), Sketch()
    for value in kept:
        sketch.add(value)
        expected.add(value)
    for value in taken:
        sketch.add(value)
    for value in taken:
        sketch.add(value, -1)
    assert sketch == expected
    assert sketch.count == len(kept)


@settings(max_examples=50, deadline=None)
@given(samples)
def test_buckets_carry_the_whole_sketch(given_: list[float]) -> None:
    sketch = Sketch(GAP_ERROR)
    for value in given_:
        sketch.add(value)
    assert Sketch(GAP_ERROR, sketch.to_buckets()) == sketch
    assert sum(times for _, times in sketch.values()) == len(given_)
