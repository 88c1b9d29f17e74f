from warehouse.transfer import Place, transfer


def test_back_and_forth():
    here, there = Place("here", {"nut": 4, "bolt": 1}), Place("there", {"nut": 1})
    transfer(here, there, "nut", 3)
    transfer(there, here, "nut", 1)
    transfer(here, there, "bolt", 1)
    assert (here.stock, there.stock) == ({"nut": 2, "bolt": 0}, {"nut": 3, "bolt": 1})
