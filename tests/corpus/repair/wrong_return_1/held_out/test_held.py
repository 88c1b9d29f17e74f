from brackets import deepest


def test_deepest_more():
    assert deepest("((()))()") == 3
    assert deepest("([{}])[]") == 3
    assert deepest("(") == 1
