from combine import change


def test_change_more():
    assert change(100, [50, 20, 10]) == 10
    assert change(5, [1]) == 1
    assert change(0, []) == 1
    assert change(1, []) == 0
