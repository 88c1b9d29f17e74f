"""Orders on their way from draft to shipped."""

from dataclasses import dataclass, field

from inventory.money import ZERO
from inventory.pricing import gross, line_total, shipping
from inventory.stock import OutOfStock

DRAFT, PLACED, SHIPPED, CANCELLED = "draft", "placed", "shipped", "cancelled"


@dataclass
class Order:
    """`lines` maps SKUs to numbers of pieces."""

    number: int
    customer: str
    lines: dict = field(default_factory=dict)
    state: str = DRAFT

    def add(self, sku, quantity):
        if self.state != DRAFT:
            raise ValueError(f"order {self.number} is {self.state}")
        if quantity < 1:
            raise ValueError("an order line has at least one piece")
        self.lines[sku] = self.lines.get(sku, 0) + quantity


class OrderBook:
    """All orders; it keeps the stock in step with them."""

    def __init__(self, catalog, stock):
        self._catalog = catalog
        self._stock = stock
        self._orders = {}

    def open(self, customer):
        """A new draft."""
        order = Order(len(self._orders) + 1, customer)
        self._orders[order.number] = order
        return order

    def get(self, number):
        return self._orders[number]

    def can_place(self, order):
        """True if there are enough free pieces for every line."""
        return all(self._stock.available(sku) >= quantity for sku, quantity in order.lines.items())

    def place(self, order):
        """Reserve all lines or none."""
        if not order.lines:
            raise ValueError(f"order {order.number} is empty")
        done = []
        try:
            for sku, quantity in order.lines.items():
                self._stock.reserve(sku, quantity)
                done.append((sku, quantity))
        except OutOfStock:
            for sku, quantity in done:
                self._stock.release(sku, quantity)
            raise
        order.state = PLACED

    def ship(self, order):
        if order.state != PLACED:
            raise ValueError(f"order {order.number} is {order.state}")
        for sku, quantity in order.lines.items():
            self._stock.ship(sku, quantity)
        order.state = SHIPPED

    def cancel(self, order):
        """Drafts and placed orders can be cancelled; reserved pieces come back."""
        if order.state not in (DRAFT, PLACED):
            raise ValueError(f"order {order.number} is {order.state}")
        if order.state == PLACED:
            for sku, quantity in order.lines.items():
                self._stock.release(sku, quantity)
        order.state = CANCELLED

    def net(self, order):
        """Worth of the goods after discounts."""
        total = ZERO
        for sku, quantity in order.lines.items():
            total = total + line_total(self._catalog.get(sku), quantity)
        return total

    def total(self, order):
        """What the customer pays: goods, shipping and tax."""
        net = self.net(order)
        return gross(net + shipping(net))

    def open_orders(self):
        """Placed orders, oldest first."""
        return [order for order in self._orders.values() if order.state == PLACED]
