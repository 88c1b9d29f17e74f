from textstats import longest_word


def test_ties_and_order():
    assert longest_word("one two three seven") == "three"
    assert longest_word("extraordinary day") == "extraordinary"
    assert longest_word("x") == "x"
