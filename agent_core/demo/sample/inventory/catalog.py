"""Products that can be stocked and sold."""

from dataclasses import dataclass

from inventory.money import Money


@dataclass(frozen=True)
class Product:
    """`pack_size` is how many pieces the supplier ships together."""

    sku: str
    name: str
    price: Money
    pack_size: int = 1


class Catalog:
    """All products by SKU."""

    def __init__(self, products=()):
        self._products = {}
        for product in products:
            self.add(product)

    def add(self, product):
        if product.sku in self._products:
            raise ValueError(f"{product.sku} is in the catalogue already")
        if product.pack_size < 1:
            raise ValueError(f"{product.sku}: a pack holds at least one piece")
        self._products[product.sku] = product

    def get(self, sku):
        if sku not in self._products:
            raise KeyError(f"unknown product {sku}")
        return self._products[sku]

    def find(self, words):
        """Products whose names hold all of the words, in order of name."""
        wanted = words.lower().split()
        found = [item for item in self._products.values() if all(word in item.name.lower() for word in wanted)]
        return sorted(found, key=lambda item: item.name)

    def __len__(self):
        return len(self._products)

    def __iter__(self):
        return iter(sorted(self._products.values(), key=lambda item: item.sku))
