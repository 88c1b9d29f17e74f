"""Accounts and transfers."""


class NotEnough(Exception):
    """The account does not hold the amount."""


class Bank:
    def __init__(self):
        self.balances = {}

    def deposit(self, account, amount):
        self.balances[account] = self.balances.get(account, 0) + amount

    def withdraw(self, account, amount):
        if self.balances.get(account, 0) < amount:
            raise NotEnough(account)
        self.balances[account] -= amount

    def transfer(self, source, target, amount):
        self.withdraw(source, amount)
        self.deposit(target, amount)

    def settle(self, debts):
        """Pays (debtor, creditor, amount) in order; returns what could not be paid."""
        unpaid = []
        for debtor, creditor, amount in debts:
            try:
                self.transfer(creditor, debtor, amount)
            except NotEnough:
                unpaid.append((debtor, creditor, amount))
        return unpaid
