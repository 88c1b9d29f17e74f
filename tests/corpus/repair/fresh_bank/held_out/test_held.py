from bank import Bank


def test_more():
    bank = Bank()
    bank.deposit("x", 5)
    assert bank.settle([("x", "y", 3), ("y", "z", 1)]) == []
    assert bank.balances == {"x": 2, "y": 2, "z": 1}
