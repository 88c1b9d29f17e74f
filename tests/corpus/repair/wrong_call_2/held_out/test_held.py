from search_index import Index


def test_any_more():
    index = Index()
    index.add("x", "one two")
    index.add("y", "two three")
    index.add("z", "four")
    assert index.find_any("one") == ["x"]
    assert index.find_any("one four") == ["x", "z"]
    assert index.find_any("two two") == ["x", "y"]
    assert index.find_any("") == []
