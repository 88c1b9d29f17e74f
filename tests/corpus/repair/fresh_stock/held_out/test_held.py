from report import low
from stock import Stock


def test_more():
    stock = Stock()
    for name, count in (("a", 5), ("b", 1), ("c", 3)):
        stock.add(name, count)
    stock.take("a", 5)
    assert stock.counts == {"a": 0, "b": 1, "c": 3}
    assert low(stock, 3) == ["a", "b"]
