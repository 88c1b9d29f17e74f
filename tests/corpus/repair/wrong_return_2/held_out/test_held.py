from intervals import merge


def test_nested():
    assert merge([(0, 100), (1, 2), (3, 4), (50, 120)]) == [(0, 120)]
    assert merge([]) == []
    assert merge([(1, 1), (1, 1)]) == [(1, 1)]
