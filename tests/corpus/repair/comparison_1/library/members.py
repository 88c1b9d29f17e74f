"""Members and what they may borrow."""


class Member:
    def __init__(self, name, limit=3):
        self.name = name
        self.limit = limit
        self.loans = []

    def may_borrow(self):
        return len(self.loans) <= self.limit

    def borrow(self, title):
        if not self.may_borrow():
            raise PermissionError(f"{self.name} has {len(self.loans)} books already")
        self.loans.append(title)

    def give_back(self, title):
        self.loans.remove(title)
