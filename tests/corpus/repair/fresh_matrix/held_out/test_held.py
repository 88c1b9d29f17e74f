from matrix import transposed


def test_more():
    assert transposed([[1], [2], [3]]) == [[1, 2, 3]]
    assert transposed([[7, 8, 9, 10]]) == [[7], [8], [9], [10]]
