from spans import merged


def test_more():
    assert merged([(1, 9), (2, 3), (8, 12), (20, 25), (21, 22)]) == [(1, 12), (20, 25)]
    assert merged([]) == []
