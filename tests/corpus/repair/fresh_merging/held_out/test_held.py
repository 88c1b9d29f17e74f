from merging import merge, merge_sorted


def test_more():
    assert merge([1, 2, 3], [4, 5]) == [1, 2, 3, 4, 5]
    assert merge([7], [1, 2, 8, 9]) == [1, 2, 7, 8, 9]
    assert merge_sorted(list(range(20, 0, -1))) == list(range(1, 21))
