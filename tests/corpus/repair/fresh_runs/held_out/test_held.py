from runs import decoded


def test_more():
    assert decoded("105a2b") == "a" * 105 + "bb"
    assert decoded("30-") == "-" * 30
