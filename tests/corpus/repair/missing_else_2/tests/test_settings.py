import pytest

from settings import DEFAULTS, as_bool, parse


def test_defaults():
    assert parse("") == DEFAULTS


def test_values():
    values = parse("width = 100 # columns\n\n# nothing\ncolor=never")
    assert values["width"] == "100"
    assert values["color"] == "never"
    assert values["debug"] == "off"


def test_bool():
    assert as_bool("Yes")
    assert not as_bool("off")
    with pytest.raises(ValueError):
        as_bool("maybe")
