"""Invoices with discount and tax. Amounts are cents."""


class Line:
    def __init__(self, label, unit_price, quantity=1):
        self.label = label
        self.unit_price = unit_price
        self.quantity = quantity

    @property
    def total(self):
        return self.unit_price * self.quantity


def subtotal(lines):
    return sum(line.total for line in lines)


def discounted(amount, percent):
    return amount + amount * percent // 100


def gross(lines, tax_percent, discount_percent=0):
    net = discounted(subtotal(lines), discount_percent)
    return net + net * tax_percent // 100
