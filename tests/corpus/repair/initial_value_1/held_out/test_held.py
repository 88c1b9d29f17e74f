from sensors import warmest


def test_warmest_more():
    assert warmest([("a", 0)]) == ("a", 0)
    assert warmest([("a", -300.0), ("b", -200.0)]) == ("b", -200.0)
    assert warmest([("a", 5), ("b", 5)]) == ("a", 5)
    assert warmest([("a", 0), ("b", -5)]) == ("a", 0)
