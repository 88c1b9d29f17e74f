from wrapping import wrapped


def test_more():
    assert wrapped("", 5) == []
    assert wrapped("one two three four", 7) == ["one two", "three", "four"]
    assert wrapped("aaa bbb", 6) == ["aaa", "bbb"]
    assert wrapped("aaa bbb", 7) == ["aaa bbb"]
