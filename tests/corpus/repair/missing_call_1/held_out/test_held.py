from slugs import slug


def test_more():
    assert slug("PYTHON") == "python"
    assert slug("Ten THINGS to do") == "ten-things-to-do"
    assert slug("X") == "x"
