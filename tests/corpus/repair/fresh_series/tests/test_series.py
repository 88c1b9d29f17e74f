import pytest
from series import cumulative, moving_average


def test_average():
    assert moving_average([1, 3, 5, 7], 2) == [2, 4, 6]


def test_whole():
    assert moving_average([2, 4], 2) == [3]


def test_bad_size():
    with pytest.raises(ValueError):
        moving_average([1], 0)


def test_cumulative():
    assert cumulative([1, 2, 3]) == [1, 3, 6]
