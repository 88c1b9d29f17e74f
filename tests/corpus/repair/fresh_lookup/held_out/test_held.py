from lookup import position


def test_more():
    items = list(range(0, 100, 2))
    assert [position(items, item) for item in items] == list(range(50))
    assert all(position(items, item) == -1 for item in range(1, 100, 2))
    assert position([], 1) == -1
