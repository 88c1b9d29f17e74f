"""A stock of goods."""


class Stock:
    def __init__(self):
        self.counts = {}

    def add(self, name, count=1):
        if count <= 0:
            raise ValueError("count must be positive")
        self.counts[name] = self.counts.get(name, 0) + count

    def take(self, name, count=1):
        if self.counts.get(name, 0) < count:
            raise KeyError(name)
        self.counts[name] += count

    def total(self):
        return sum(self.counts.values())
