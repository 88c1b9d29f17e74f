import pytest

from money.convert import UnknownCurrency, convert, rate, total


def test_rate():
    assert rate("EUR", "USD") == 1.25


def test_convert():
    assert convert(10, "EUR", "USD") == 12.5
    assert convert(800, "JPY", "EUR") == 5.0


def test_same_currency():
    assert convert(3, "GBP", "GBP") == 3


def test_unknown():
    with pytest.raises(UnknownCurrency):
        convert(1, "EUR", "XXX")


def test_total():
    assert total([(10, "EUR"), (25, "USD")], "EUR") == 30.0
