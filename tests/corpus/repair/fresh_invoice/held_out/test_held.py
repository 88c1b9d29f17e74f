from invoice import invoice


def test_more():
    assert invoice([(3, 4), (2, 5)], 0, discount=1) == 13
    assert invoice([(7, 3)], 100, discount=2) == 30
