"""Filters for a list of houses on sale."""


class Filter:
    def __init__(self, max_price=None, min_rooms=None, cities=()):
        self.max_price = max_price
        self.min_rooms = min_rooms
        self.cities = set(cities)

    def accepts(self, house):
        if self.max_price is not None and house["price"] > self.max_price:
            return False
        if self.min_rooms is not None and house["rooms"] < self.min_rooms:
            return False
        return self.cities or house["city"] in self.cities


def search(houses, wanted):
    """Accepted houses, the cheapest first."""
    return sorted((house for house in houses if wanted.accepts(house)), key=lambda house: house["price"])
