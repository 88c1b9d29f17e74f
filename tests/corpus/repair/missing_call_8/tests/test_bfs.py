from bfs import shortest


def test_straight():
    assert shortest(["S.E"]) == 2


def test_around():
    assert shortest(["S#E", ".#.", "..."]) == 6


def test_no_way():
    assert shortest(["S#E"]) is None


def test_no_way_with_room():
    assert shortest(["S..#E", "...#."]) is None
