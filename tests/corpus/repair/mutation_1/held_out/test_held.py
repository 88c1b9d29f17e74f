from basket import collect


def test_lists_are_apart():
    first = collect("x")
    second = collect("y")
    first.append("z")
    assert second == ["y"]
    empty = []
    assert collect("q", empty) is empty
