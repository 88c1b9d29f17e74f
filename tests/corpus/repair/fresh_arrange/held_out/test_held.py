from arrange import subsets


def test_more():
    assert len(subsets(list("abcd"))) == 16
    assert subsets(["x"]) == [[], ["x"]]
