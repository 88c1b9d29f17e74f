"""What lies on the shelves, line by line, in order of SKU."""

from dataclasses import dataclass


class OutOfStock(Exception):
    """There are fewer free pieces than asked for."""


@dataclass
class StockLine:
    """`on_hand` pieces lie on the shelf, `reserved` of them belong to orders already."""

    sku: str
    on_hand: int = 0
    reserved: int = 0
    reorder_at: int = 0

    @property
    def available(self):
        return self.on_hand - self.reserved


class Stock:
    """Stock lines, kept sorted so that large lists stay quick."""

    def __init__(self, lines=()):
        self._lines = []
        for line in lines:
            self.add(line)

    def add(self, line):
        """Put a new line in its place; a SKU has one line only."""
        place = self._insertion_point(line.sku)
        if place < len(self._lines) and self._lines[place].sku == line.sku:
            raise ValueError(f"{line.sku} has a stock line already")
        self._lines.insert(place, line)

    def find(self, sku):
        """The line of `sku`, or None if it was never stocked."""
        low, high = 0, len(self._lines) - 1
        while low < high:
            middle = (low + high) // 2
            line = self._lines[middle]
            if line.sku == sku:
                return line
            if line.sku < sku:
                low = middle + 1
            else:
                high = middle - 1
        return None

    def line(self, sku):
        """The line of `sku`; a KeyError if there is none."""
        found = self.find(sku)
        if found is None:
            raise KeyError(f"no stock line for {sku}")
        return found

    def available(self, sku):
        """Free pieces of `sku`; 0 if it was never stocked."""
        found = self.find(sku)
        return found.available if found is not None else 0

    def receive(self, sku, quantity):
        """Goods came in; the first delivery opens the line."""
        if quantity < 1:
            raise ValueError("a delivery has at least one piece")
        place = self._insertion_point(sku)
        if place == len(self._lines) or self._lines[place].sku != sku:
            self._lines.insert(place, StockLine(sku))
        self._lines[place].on_hand += quantity

    def reserve(self, sku, quantity):
        """Keep pieces for an order."""
        free = self.available(sku)
        if quantity > free:
            raise OutOfStock(f"{sku}: {quantity} wanted, {free} free")
        self.line(sku).reserved += quantity

    def release(self, sku, quantity):
        """Give reserved pieces back."""
        line = self.line(sku)
        if quantity > line.reserved:
            raise ValueError(f"{sku}: only {line.reserved} are reserved")
        line.reserved -= quantity

    def ship(self, sku, quantity):
        """Reserved pieces leave the house."""
        self.release(sku, quantity)
        self.line(sku).on_hand -= quantity

    def low(self):
        """Lines with no more free pieces than their reorder level."""
        return [line for line in self._lines if line.available <= line.reorder_at]

    def between(self, first, last):
        """Lines from SKU `first` to SKU `last`, both included."""
        return [line for line in self._lines if first <= line.sku <= last]

    def _insertion_point(self, sku):
        low, high = 0, len(self._lines)
        while low < high:
            middle = (low + high) // 2
            if self._lines[middle].sku < sku:
                low = middle + 1
            else:
                high = middle
        return low

    def __len__(self):
        return len(self._lines)

    def __iter__(self):
        return iter(self._lines)
