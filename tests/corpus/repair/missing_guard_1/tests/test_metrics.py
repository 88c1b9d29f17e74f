import pytest

from metrics import mean, percentile, spread


def test_mean():
    assert mean([1, 2, 6]) == 3


def test_mean_of_nothing():
    assert mean([]) == 0.0


def test_spread():
    assert spread([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx(2.138, abs=0.001)
    assert spread([3]) == 0.0


def test_percentile():
    assert percentile([15, 20, 35, 40, 50], 30) == 20
