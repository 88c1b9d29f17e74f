"""Moves goods between places."""


class OutOfStock(Exception):
    pass


class Place:
    def __init__(self, name, stock=None):
        self.name = name
        self.stock = dict(stock or {})

    def count(self, sku):
        return self.stock.get(sku, 0)

    def put(self, sku, amount):
        self.stock[sku] = self.count(sku) + amount

    def take(self, sku, amount):
        if self.count(sku) < amount:
            raise OutOfStock(f"{self.name}: {sku}")
        self.stock[sku] -= amount


def transfer(source, target, sku, amount):
    source.take(sku, amount)
    source.put(sku, amount)


def total(places, sku):
    return sum(place.count(sku) for place in places)
