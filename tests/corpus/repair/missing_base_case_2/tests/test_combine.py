from combine import change, flatten, subsets


def test_subsets():
    assert subsets([1, 2]) == [[], [2], [1], [1, 2]]


def test_change():
    assert change(4, [1, 2]) == 3
    assert change(10, [5, 2]) == 2


def test_change_impossible():
    assert change(3, [2]) == 0


def test_change_of_nothing():
    assert change(0, [1, 2]) == 1


def test_flatten():
    assert flatten([1, [2, [3]], []]) == [1, 2, 3]
