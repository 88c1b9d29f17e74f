import pytest

from calc import CalculatorError, evaluate


def test_sum():
    assert evaluate("1 2 +") == 3


def test_difference():
    assert evaluate("5 2 -") == 3


def test_nested():
    assert evaluate("8 2 / 3 *") == 12


def test_errors():
    with pytest.raises(CalculatorError):
        evaluate("1 +")
    with pytest.raises(CalculatorError):
        evaluate("1 2")
