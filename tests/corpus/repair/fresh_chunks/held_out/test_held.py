from chunks import chunked


def test_more():
    assert list(chunked(range(5), 1)) == [[0], [1], [2], [3], [4]]
    assert list(chunked(range(5), 9)) == [[0, 1, 2, 3, 4]]
    assert list(chunked(range(4), 4)) == [[0, 1, 2, 3]]
