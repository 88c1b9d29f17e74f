"""Accounts that can't be overdrawn."""


class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance -= amount
        self.history.append(("withdraw", amount))


def pay(sender, receiver, amount):
    sender.withdraw(amount)
    receiver.deposit(amount)
