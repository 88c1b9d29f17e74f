import pytest
from report import low, table
from stock import Stock


@pytest.fixture
def stock():
    made = Stock()
    made.add("nail", 10)
    made.add("bolt", 2)
    return made


def test_take(stock):
    stock.take("nail", 4)
    assert stock.total() == 8


def test_too_many(stock):
    with pytest.raises(KeyError):
        stock.take("bolt", 3)


def test_low(stock):
    assert low(stock, 3) == ["bolt"]


def test_table(stock):
    assert table(stock) == "bolt 2\nnail 10"
