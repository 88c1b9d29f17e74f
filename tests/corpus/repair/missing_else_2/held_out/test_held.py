from settings import parse


def test_new_key():
    values = parse("extra = a=b")
    assert values["extra"] == "a=b"
    assert values["width"] == "80"
