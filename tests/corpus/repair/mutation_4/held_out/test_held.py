from forms import Form, Wizard


def test_apart():
    first, second = Wizard([Form({})]), Wizard([Form({})])
    first.submit({"a": 1})
    second.submit({"b": 2})
    assert first.answers == {"a": 1}
    assert second.answers == {"b": 2}
