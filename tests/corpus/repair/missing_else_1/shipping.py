"""Shipping costs in cents."""

ZONES = {"DE": 1, "AT": 2, "FR": 2, "US": 4}


def zone(country):
    return ZONES.get(country, 5)


def base_cost(grams):
    if grams <= 500:
        cost = 390
    elif grams <= 2000:
        cost = 590
    else:
        cost = 990
    return cost


def shipping(country, grams, member=False, express=False):
    """Members pay nothing for what would cost less than ten euros."""
    base = base_cost(grams) * zone(country)
    if member and base < 1000:
        total = 0
    if express:
        total += 1000
    return total
