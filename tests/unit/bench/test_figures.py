"""Ranks of measured values."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from agent_core.bench.figures import rank


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.floats(0, 1))
def test_a_rank_is_one_of_the_values_with_its_share_below(values: list[float], share: float) -> None:
    found = rank(values, share)
    assert found in values
    assert sum(value < found for value in values) <= share * len(values)


def test_of_nothing_there_is_none() -> None:
    assert math.isnan(rank([], 0.5))
    assert rank(range(100), 0.99) == 99
