from duration import parse, show


def test_parse():
    assert parse("2m 5s") == 125
    assert parse("1h 30m") == 5400


def test_show():
    assert show(125) == "2m 5s"
    assert show(5400) == "1h 30m"
    assert show(0) == "0s"


def test_days():
    assert show(86400 + 60) == "1d 1m"
