"""Readings of thermometers in degrees Celsius."""


def warmest(readings):
    """(place, degrees) of the highest reading, None without readings."""
    best_place, best = None, 0
    for place, degrees in readings:
        if degrees > best:
            best_place, best = place, degrees
    if best_place is None:
        return None
    return best_place, best


def average_by_place(readings):
    sums = {}
    for place, degrees in readings:
        total, count = sums.get(place, (0.0, 0))
        sums[place] = (total + degrees, count + 1)
    return {place: total / count for place, (total, count) in sums.items()}


def frost_days(days):
    """How many days went below zero."""
    return sum(1 for lows in days if min(lows) < 0)
