from sorting import insertion_sorted, ranks


def test_sorted():
    assert insertion_sorted([3, 1, 2]) == [1, 2, 3]


def test_already_sorted():
    assert insertion_sorted([1, 2, 3]) == [1, 2, 3]


def test_stable():
    assert insertion_sorted(["bb", "a", "cc"], key=len) == ["a", "bb", "cc"]


def test_ranks():
    assert ranks({"ann": 5, "bob": 9}) == {"bob": 1, "ann": 2}
