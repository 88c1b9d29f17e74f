from calc import evaluate


def test_order():
    assert evaluate("1 4 /") == 0.25
    assert evaluate("10 2 3 - -") == 11
