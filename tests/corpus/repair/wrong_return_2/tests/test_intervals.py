from intervals import covered, gaps, merge, overlap


def test_overlap():
    assert overlap((0, 2), (2, 3))
    assert not overlap((0, 1), (2, 3))


def test_merge():
    assert merge([(5, 7), (1, 3), (2, 4)]) == [(1, 4), (5, 7)]


def test_merge_inside():
    assert merge([(1, 10), (2, 3), (12, 13)]) == [(1, 10), (12, 13)]


def test_covered():
    assert covered([(0, 5), (1, 2), (8, 9)]) == 6


def test_gaps():
    assert gaps([(0, 1), (3, 4)]) == [(1, 3)]
