from routes import costs, within

NETWORK = {"a": {"b": 4, "c": 1}, "c": {"b": 2}, "b": {"d": 5}, "d": {}}


def test_costs():
    assert costs(NETWORK, "a") == {"a": 0, "c": 1, "b": 3, "d": 8}


def test_alone():
    assert costs({}, "x") == {"x": 0}


def test_within():
    assert within(NETWORK, "a", 3) == ["a", "b", "c"]
    assert within(NETWORK, "c", 2) == ["b", "c"]
