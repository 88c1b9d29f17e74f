from ledger import moving_average


def test_more_windows():
    assert moving_average([1, 2, 3, 4, 5, 6], 3) == [2, 3, 4, 5]
    assert moving_average([5], 1) == [5]
    assert moving_average([1, 2], 5) == []
