"""Gains over days in a row."""


def best_gain(changes):
    """The largest sum of days in a row; 0 where every day is a loss."""
    best = current = 0
    for change in changes:
        current = max(0, current + change)
        best = current
    return best


def longest_rise(values):
    """Most values in a row of which each is larger than the one before."""
    if not values:
        return 0
    best = length = 1
    for before, value in zip(values, values[1:]):
        length = length + 1 if value > before else 1
        best = max(best, length)
    return best
