from spans import covered, gaps, merged


def test_apart():
    assert merged([(5, 6), (1, 2)]) == [(1, 2), (5, 6)]


def test_overlap():
    assert merged([(1, 4), (3, 6)]) == [(1, 6)]


def test_inside():
    assert merged([(1, 9), (2, 3)]) == [(1, 9)]


def test_covered():
    assert covered([(0, 10), (2, 4), (20, 21)]) == 11


def test_gaps():
    assert gaps([(1, 2), (4, 5)]) == [(2, 4)]
