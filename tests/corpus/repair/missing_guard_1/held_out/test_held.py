from metrics import mean, spread


def test_mean_more():
    assert mean([]) == 0
    assert mean([5]) == 5
    assert mean([0, 0, 3]) == 1
    assert mean([-1, 1]) == 0
    assert spread([1, 1]) == 0
