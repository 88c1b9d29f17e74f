from islands import islands


def test_two():
    assert islands(["##.", "...", "..#"]) == [2, 1]


def test_hook():
    assert islands(["..#", "###", "#.."]) == [5]


def test_none():
    assert islands(["...", "..."]) == []


def test_corners_do_not_touch():
    assert islands(["#.", ".#"]) == [1, 1]
