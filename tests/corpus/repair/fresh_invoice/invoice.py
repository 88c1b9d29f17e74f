"""Invoices with tax and discount."""


def gross(price, tax_percent):
    return price + price * tax_percent / 100


def invoice(items, tax_percent, discount=0):
    """`items`: (price, count). The discount counts for each piece, before tax."""
    total = 0
    for price, count in items:
        total += price - discount * count
    return round(gross(total, tax_percent), 2)


def cheapest(items):
    return min(price for price, _ in items)
