import pytest

from puzzles import digits, is_palindrome, moves


def test_moves():
    assert moves(2, "a", "c", "b") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert len(moves(5, 1, 2, 3)) == 31


def test_digits():
    assert digits(407) == [4, 0, 7]


@pytest.mark.parametrize("number, base, wanted", [(5, 2, [1, 0, 1]), (255, 16, [15, 15]), (0, 2, [0]), (64, 8, [1, 0, 0])])
def test_other_bases(number, base, wanted):
    assert digits(number, base) == wanted


def test_palindrome():
    assert is_palindrome("abcba")
    assert not is_palindrome("abca")
