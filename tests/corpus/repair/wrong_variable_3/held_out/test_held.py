from geometry import Box


def test_bottom():
    assert Box(1, 1, 7, 9).bottom == 10
    assert Box(0, 0, 2, 2).bottom == 2
    assert Box(0, -5, 100, 1).bottom == -4
