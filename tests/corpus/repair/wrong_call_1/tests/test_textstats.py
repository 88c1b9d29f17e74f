from textstats import average_length, longest_word, most_common, words


def test_words():
    assert words("Don't stop, Bob!") == ["don't", "stop", "bob"]


def test_most_common():
    assert most_common("b a b c a b", 2) == [("b", 3), ("a", 2)]


def test_longest():
    assert longest_word("a quick brownish fox") == "brownish"
    assert longest_word("") == ""


def test_average():
    assert average_length("ab abcd") == 3.0
