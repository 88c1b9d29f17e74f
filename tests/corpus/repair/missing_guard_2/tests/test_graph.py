from graph import distance, reachable

EDGES = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["a"], "x": ["a"]}


def test_chain():
    assert reachable({"a": ["b"], "b": ["c"]}, "a") == ["a", "b", "c"]


def test_cycle():
    assert reachable(EDGES, "a") == ["a", "b", "c", "d"]


def test_alone():
    assert reachable({}, "q") == ["q"]


def test_distance():
    assert distance(EDGES, "x", "d") == 3
    assert distance(EDGES, "a", "x") is None
