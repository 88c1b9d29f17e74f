from chunks import index_of_first


def test_index_more():
    assert index_of_first([], bool) == -1
    assert index_of_first([0, 0, 0, 7], bool) == 3
    assert index_of_first([0, 0], bool) == -1
