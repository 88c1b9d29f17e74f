from graph import reachable


def test_self_loop_and_diamond():
    assert reachable({"a": ["a"]}, "a") == ["a"]
    assert reachable({"a": ["b", "b", "c"], "b": ["c"]}, "a") == ["a", "b", "c"]
    assert reachable({"a": ["b"], "b": ["a"], "c": ["a"]}, "c") == ["c", "a", "b"]
