from lookup import count_below, position


def test_found():
    assert position([1, 3, 5, 7, 9], 9) == 4


def test_first():
    assert position([1, 3, 5], 1) == 0


def test_not_there():
    assert position([1, 3, 5], 4) == -1


def test_count_below():
    assert count_below([1, 3, 3, 5], 3) == 1
    assert count_below([1, 3, 3, 5], 9) == 4
