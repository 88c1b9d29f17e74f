from common import common_length


def test_more():
    assert common_length("abcbdab", "bdcaba") == 4
    assert common_length("aab", "aaab") == 3
    assert common_length("zz", "zazbzc") == 2
