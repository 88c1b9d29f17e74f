import pytest

from clock import add, between, parse, show


def test_parse():
    assert parse("01:30") == 90


def test_parse_refuses():
    with pytest.raises(ValueError):
        parse("24:00")


def test_show():
    assert show(75) == "01:15"
    assert show(0) == "00:00"


def test_add():
    assert add("23:50", 25) == "00:15"


def test_between():
    assert between("22:00", "06:00") == 480
