from nesting import grouped


def test_more():
    assert grouped([], len) == {}
    assert grouped(range(5), lambda number: number % 2) == {0: [0, 2, 4], 1: [1, 3]}
