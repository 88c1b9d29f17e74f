from matrix import multiply


def test_shapes():
    assert multiply([[1], [2]], [[3, 4, 5]]) == [[3, 4, 5], [6, 8, 10]]
    assert multiply([[2]], [[3]]) == [[6]]
