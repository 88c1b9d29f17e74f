from arrange import orders, subsets


def test_orders():
    assert orders([1, 2]) == [[1, 2], [2, 1]]
    assert len(orders([1, 2, 3, 4])) == 24


def test_subsets():
    assert subsets([1, 2]) == [[], [2], [1], [1, 2]]


def test_none():
    assert subsets([]) == [[]]
