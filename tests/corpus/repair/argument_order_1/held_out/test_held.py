from money.convert import convert


def test_cross_rates():
    assert convert(1, "GBP", "USD") == 1.56
    assert convert(1.25, "USD", "EUR") == 1.0
    assert convert(2, "EUR", "JPY") == 320.0
