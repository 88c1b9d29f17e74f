import pytest

from accounts import Account, pay


def test_more():
    account = Account("Ada", 100)
    account.withdraw(60)
    with pytest.raises(ValueError):
        account.withdraw(41)
    account.withdraw(40)
    assert account.balance == 0
    with pytest.raises(ValueError):
        pay(account, Account("Bob"), 1)
