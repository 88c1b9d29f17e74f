"""What a customer pays: quantity discounts and tax."""

from inventory.money import ZERO

# From so many pieces on, so many per cent off.
TIERS = ((100, 12), (50, 8), (10, 3))

TAX_RATE = 20
FREE_SHIPPING_FROM = 15000
SHIPPING = 690


def discount_rate(quantity):
    """Per cent off for `quantity` pieces of one product."""
    for minimum, rate in TIERS:
        if quantity >= minimum:
            return rate
    return 0


def line_total(product, quantity):
    """Price of `quantity` pieces after the discount, without tax."""
    full = product.price.times(quantity)
    return full - full.percent(discount_rate(quantity))


def shipping(net):
    """Cost of shipping goods worth `net`; large orders ship for free."""
    if net.cents >= FREE_SHIPPING_FROM:
        return ZERO
    return type(net)(SHIPPING)


def gross(net):
    """`net` with tax."""
    return net + net.percent(TAX_RATE)
