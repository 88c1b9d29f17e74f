from matrix import identity, product, transposed


def test_transposed():
    assert transposed([[1, 2, 3], [4, 5, 6]]) == [[1, 4], [2, 5], [3, 6]]


def test_square():
    assert transposed([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]


def test_empty():
    assert transposed([]) == []


def test_product():
    assert product([[1, 2]], [[3], [4]]) == [[11]]


def test_identity():
    assert identity(2) == [[1, 0], [0, 1]]
