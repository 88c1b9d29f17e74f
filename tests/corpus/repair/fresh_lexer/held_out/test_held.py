from lexer import tokens


def test_more():
    assert tokens("") == []
    assert tokens("7") == [7]
    assert tokens("100/25*3") == [100, "/", 25, "*", 3]
