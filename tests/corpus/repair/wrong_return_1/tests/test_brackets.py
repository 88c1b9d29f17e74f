from brackets import balanced, deepest


def test_balanced():
    assert balanced("a(b[c]{d})")
    assert balanced("")


def test_not_balanced():
    assert not balanced("(]")
    assert not balanced("(")
    assert not balanced(")")


def test_deepest():
    assert deepest("(a[b]){}") == 2
    assert deepest("none") == 0
