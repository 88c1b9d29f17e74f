from chunks import chunked, pairwise


def test_even():
    assert list(chunked("abcd", 2)) == [["a", "b"], ["c", "d"]]


def test_rest():
    assert list(chunked([1, 2, 3], 2)) == [[1, 2], [3]]


def test_empty():
    assert list(chunked([], 3)) == []


def test_pairwise():
    assert list(pairwise([1, 2, 3])) == [(1, 2), (2, 3)]
    assert list(pairwise([])) == []
