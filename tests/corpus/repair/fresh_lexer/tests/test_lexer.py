import pytest
from lexer import numbers, tokens


def test_sum():
    assert tokens("12 + 7") == [12, "+", 7]


def test_no_blanks():
    assert tokens("(3*44)-5") == ["(", 3, "*", 44, ")", "-", 5]


def test_numbers():
    assert numbers("1 22") == [1, 22]


def test_unknown():
    with pytest.raises(ValueError, match="'x'"):
        tokens("3 + x")
