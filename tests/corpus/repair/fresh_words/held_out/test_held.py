from words import longest


def test_more():
    assert longest("") == ""
    assert longest("aa bbb cc") == "bbb"
