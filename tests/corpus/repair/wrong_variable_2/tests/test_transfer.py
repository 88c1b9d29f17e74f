import pytest

from warehouse.transfer import OutOfStock, Place, total, transfer


def test_transfer():
    here, there = Place("here", {"nut": 5}), Place("there")
    transfer(here, there, "nut", 2)
    assert here.count("nut") == 3
    assert there.count("nut") == 2


def test_nothing_is_lost():
    here, there = Place("here", {"nut": 5}), Place("there", {"nut": 1})
    transfer(here, there, "nut", 5)
    assert total([here, there], "nut") == 6


def test_out_of_stock():
    here, there = Place("here"), Place("there")
    with pytest.raises(OutOfStock):
        transfer(here, there, "nut", 1)
    assert there.count("nut") == 0
