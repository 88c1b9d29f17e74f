from runs_of_gain import best_gain


def test_more():
    assert best_gain([5, -9, 2]) == 5
    assert best_gain([-2, 1, -3, 4, -1, 2, 1, -5, 4]) == 6
    assert best_gain([]) == 0
