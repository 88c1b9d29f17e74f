from merging import merge, merge_sorted


def test_merge():
    assert merge([1, 4], [2, 3, 5, 6]) == [1, 2, 3, 4, 5, 6]


def test_one_empty():
    assert merge([], [1, 2]) == [1, 2]
    assert merge([1, 2], []) == [1, 2]


def test_sort():
    assert merge_sorted([5, 2, 4, 7, 1, 3, 2, 6]) == [1, 2, 2, 3, 4, 5, 6, 7]
