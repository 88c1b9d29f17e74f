from merge import flat, merged, merged_all


def test_flat_values():
    assert merged({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}


def test_deep():
    assert merged({"db": {"host": "x", "port": 1}}, {"db": {"port": 2}}) == {"db": {"host": "x", "port": 2}}


def test_all():
    assert merged_all([{"a": {"x": 1}}, {"a": {"y": 2}}, {"a": 3}]) == {"a": 3}


def test_flat():
    assert flat({"a": {"b": 1, "c": {"d": 2}}, "e": 3}) == {"a.b": 1, "a.c.d": 2, "e": 3}
