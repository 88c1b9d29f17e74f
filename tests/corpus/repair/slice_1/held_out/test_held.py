from logs import rotate


def test_rotate_more():
    assert rotate([], 3) == ([], [])
    assert rotate([1, 2, 3, 4], 1) == ([4], [1, 2, 3])
    assert rotate([1, 2], 0) == ([], [1, 2])
