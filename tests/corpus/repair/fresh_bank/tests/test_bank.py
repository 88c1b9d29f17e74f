import pytest
from bank import Bank, NotEnough


@pytest.fixture
def bank():
    made = Bank()
    made.deposit("ann", 100)
    made.deposit("bob", 20)
    return made


def test_transfer(bank):
    bank.transfer("ann", "bob", 30)
    assert bank.balances == {"ann": 70, "bob": 50}


def test_not_enough(bank):
    with pytest.raises(NotEnough):
        bank.withdraw("bob", 21)


def test_settle(bank):
    assert bank.settle([("ann", "bob", 60), ("bob", "ann", 500)]) == [("bob", "ann", 500)]
    assert bank.balances == {"ann": 40, "bob": 80}
