from series import moving_average


def test_more():
    assert moving_average([1, 2, 3], 1) == [1, 2, 3]
    assert moving_average([3, 3, 3, 9, 0], 3) == [3, 5, 4]
