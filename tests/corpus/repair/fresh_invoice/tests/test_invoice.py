from invoice import cheapest, gross, invoice


def test_gross():
    assert gross(100, 20) == 120


def test_invoice():
    assert invoice([(10, 3), (5, 1)], 10) == 38.5


def test_discount():
    assert invoice([(10, 2)], 0, discount=1) == 18


def test_cheapest():
    assert cheapest([(10, 1), (4, 9)]) == 4
