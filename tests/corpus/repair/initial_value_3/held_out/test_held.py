from tags import common_tags


def test_common_more():
    assert common_tags([("A", ["x", "y"])]) == {"x", "y"}
    assert common_tags([("A", ["x", "y"]), ("B", ["y", "z"])]) == {"y"}
    assert common_tags([("A", ["x"]), ("B", []), ("C", ["x"])]) == set()
