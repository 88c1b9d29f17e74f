from common import common_length, similarity


def test_length():
    assert common_length("harvest", "hart") == 4


def test_repeated():
    assert common_length("aaa", "a") == 1


def test_none():
    assert common_length("abc", "xyz") == 0


def test_similarity():
    assert similarity("", "") == 1.0
    assert similarity("ab", "ab") == 1.0
