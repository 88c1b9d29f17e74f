from pathget import get, pick

DATA = {"user": {"name": "Ann", "tags": ["x", "y"]}}


def test_get():
    assert get(DATA, "user.name") == "Ann"
    assert get(DATA, "user.tags.1") == "y"


def test_missing():
    assert get(DATA, "user.mail") is None
    assert get(DATA, "nobody", "-") == "-"
    assert get(DATA, "user.tags.7", 0) == 0
    assert get(DATA, "user.name.first") is None


def test_pick():
    assert pick(DATA, ["user.name"]) == {"user.name": "Ann"}
