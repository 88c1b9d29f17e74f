from histogram import bucket


def test_more():
    assert [bucket(value, 10, 2.5) for value in (10, 12.4, 12.5, 19)] == [0, 0, 1, 3]
