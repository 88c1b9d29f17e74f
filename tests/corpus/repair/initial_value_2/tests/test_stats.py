import pytest

from stats import geometric_mean, power, product


def test_product():
    assert product([2, 3, 7]) == 42


def test_empty_product():
    assert product([]) == 1


@pytest.mark.parametrize("base, exponent, result", [(2, 10, 1024), (5, 0, 1), (3, 3, 27)])
def test_power(base, exponent, result):
    assert power(base, exponent) == result


def test_geometric_mean():
    assert geometric_mean([2, 8]) == pytest.approx(4)
