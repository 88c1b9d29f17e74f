from merge import merged


def test_three_levels():
    base = {"a": {"b": {"c": 1, "d": 2}}, "z": 0}
    assert merged(base, {"a": {"b": {"c": 9}}}) == {"a": {"b": {"c": 9, "d": 2}}, "z": 0}
    assert base == {"a": {"b": {"c": 1, "d": 2}}, "z": 0}
