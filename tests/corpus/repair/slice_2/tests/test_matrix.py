from matrix import diagonal, multiply, rotated, transpose


def test_transpose():
    assert transpose([[1, 2, 3], [4, 5, 6]]) == [[1, 4], [2, 5], [3, 6]]
    assert transpose([]) == []


def test_multiply_identity():
    assert multiply([[1, 0], [0, 1]], [[5, 6], [6, 8]]) == [[5, 6], [6, 8]]


def test_multiply():
    assert multiply([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]


def test_multiply_row_by_column():
    assert multiply([[1, 2, 3]], [[4], [5], [6]]) == [[32]]


def test_diagonal():
    assert diagonal([[1, 2], [3, 4]]) == [1, 4]


def test_rotated():
    assert rotated([[1, 2], [3, 4]]) == [[3, 1], [4, 2]]
