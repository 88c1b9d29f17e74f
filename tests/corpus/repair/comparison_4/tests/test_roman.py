from roman import parse, show


def test_parse():
    assert parse("XVI") == 16


def test_subtractive():
    assert parse("MCMXCIV") == 1994
    assert parse("IX") == 9


def test_show():
    assert show(1994) == "MCMXCIV"
