from pathget import get


def test_default_everywhere():
    assert get({}, "a.b.c", 5) == 5
    assert get({"a": {}}, "a.b", "d") == "d"
    assert get({"a": None}, "a", "d") is None
