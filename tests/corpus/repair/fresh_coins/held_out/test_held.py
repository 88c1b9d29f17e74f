from coins import ways


def test_more():
    assert ways(0, [1]) == 1
    assert ways(10, [2, 5, 3, 6]) == 5
    assert ways(100, [50, 25, 10, 5, 1]) == 292
