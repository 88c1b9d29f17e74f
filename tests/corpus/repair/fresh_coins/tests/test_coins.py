from coins import fewest, ways


def test_ways():
    assert ways(5, [1, 2, 5]) == 4


def test_impossible():
    assert ways(3, [2]) == 0


def test_fewest():
    assert fewest(11, [1, 2, 5]) == 3
    assert fewest(3, [2]) is None
