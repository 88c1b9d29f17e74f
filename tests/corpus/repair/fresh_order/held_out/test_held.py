from order import ordered


def test_more():
    needs = {"e": ["a", "b", "d"], "d": ["c"], "c": [], "b": ["c"], "a": []}
    assert ordered(needs) == ["a", "c", "b", "d", "e"]
