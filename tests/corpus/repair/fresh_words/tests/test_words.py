from words import counted, longest, most_common


def test_counted():
    assert counted("A cat, a dog.") == {"a": 2, "cat": 1, "dog": 1}


def test_most_common():
    assert most_common("b a b c a b", 2) == [("b", 3), ("a", 2)]


def test_longest():
    assert longest("I saw an elephant there") == "elephant"


def test_empty():
    assert counted("...") == {}
