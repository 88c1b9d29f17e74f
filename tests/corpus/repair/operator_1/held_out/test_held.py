from invoice import discounted


def test_other_discounts():
    assert discounted(0, 50) == 0
    assert discounted(999, 0) == 999
    assert discounted(500, 100) == 0
    assert discounted(250, 20) == 200
