import pytest

from accounts import Account, pay


def test_deposit():
    account = Account("Ada")
    account.deposit(5)
    assert account.balance == 5


def test_withdraw_everything():
    account = Account("Ada", 5)
    account.withdraw(5)
    assert account.balance == 0


def test_withdraw_too_much():
    account = Account("Ada", 5)
    with pytest.raises(ValueError):
        account.withdraw(6)
    assert account.balance == 5
    assert account.history == []


def test_refuses_nothing():
    with pytest.raises(ValueError):
        Account("Ada", 5).withdraw(0)


def test_pay():
    ada, bob = Account("Ada", 10), Account("Bob")
    pay(ada, bob, 4)
    assert (ada.balance, bob.balance) == (6, 4)
