from wrapping import boxed, wrapped


def test_wrapped():
    assert wrapped("the quick brown fox", 9) == ["the quick", "brown fox"]


def test_exact():
    assert wrapped("ab cd ef", 4) == ["ab", "cd", "ef"]


def test_long_word():
    assert wrapped("a incomprehensible b", 5) == ["a", "incomprehensible", "b"]


def test_boxed():
    assert boxed("hi you", 4) == ["|hi  |", "|you |"]
