from chunks import chunks, index_of_first, runs


def test_chunks():
    assert chunks("abcde", 2) == [["a", "b"], ["c", "d"], ["e"]]
    assert chunks([], 3) == []


def test_runs():
    assert runs("aab") == [("a", 2), ("b", 1)]


def test_index_at_once():
    assert index_of_first([5, 1], lambda item: item > 4) == 0


def test_index_later():
    assert index_of_first([1, 2, 5], lambda item: item > 4) == 2


def test_index_none():
    assert index_of_first([1, 2], lambda item: item > 4) == -1
