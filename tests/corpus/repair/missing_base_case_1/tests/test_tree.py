from tree import build, height, in_order


def test_in_order():
    assert in_order(build([3, 1, 2, 5])) == [1, 2, 3, 5]


def test_height():
    assert height(build([3, 1, 2, 5])) == 3
    assert height(build([1])) == 1


def test_empty():
    assert height(None) == 0
    assert in_order(None) == []
