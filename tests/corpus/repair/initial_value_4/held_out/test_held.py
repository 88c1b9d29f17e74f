from coins import fewest


def test_more():
    assert fewest(100, [1, 5, 10, 25, 50]) == 2
    assert fewest(1, [1]) == 1
    assert fewest(7, [3]) is None
