from sorting import insertion_sorted


def test_more():
    assert insertion_sorted([]) == []
    assert insertion_sorted([9, 8, 7, 6, 5]) == [5, 6, 7, 8, 9]
    assert insertion_sorted(["bb", "aa", "c"], key=len) == ["c", "bb", "aa"]
