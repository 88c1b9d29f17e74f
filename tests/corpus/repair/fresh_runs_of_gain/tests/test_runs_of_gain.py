from runs_of_gain import best_gain, longest_rise


def test_gain():
    assert best_gain([3, -5, 4, 2, -1]) == 6


def test_losses_only():
    assert best_gain([-1, -2]) == 0


def test_gain_at_the_end():
    assert best_gain([1, 2, 3]) == 6


def test_rise():
    assert longest_rise([1, 2, 2, 3, 4, 1]) == 3
