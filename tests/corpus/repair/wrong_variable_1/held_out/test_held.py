from routes import match


def test_two_fields():
    assert match("/{a}/x/{b}", "/1/x/2") == {"a": "1", "b": "2"}
    assert match("/{a}", "/{a}") == {"a": "{a}"}
