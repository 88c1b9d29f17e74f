from coins import fewest, greedy


def test_fewest():
    assert fewest(6, [1, 3, 4]) == 2
    assert fewest(11, [5, 2]) == 4


def test_nothing():
    assert fewest(0, [2]) == 0


def test_impossible():
    assert fewest(3, [2]) is None


def test_greedy():
    assert greedy(7, [1, 5]) == [5, 1, 1]
    assert greedy(3, [2]) is None
