from tokens import tokens


def test_mixed():
    assert tokens("a1b2(3c)") == ["a1b2", "(", "3", "c", ")"]
