from tree import build, height


def test_heights():
    assert height(build(range(7))) == 7
    assert height(build([4, 2, 6, 1, 3, 5, 7])) == 3
    assert height(build([])) == 0
