"""Running figures over a list of bookings."""


def running_totals(amounts):
    totals = []
    total = 0
    for amount in amounts:
        total += amount
        totals.append(total)
    return totals


def moving_average(values, window):
    """Means of every run of `window` neighbouring values."""
    if window <= 0:
        raise ValueError("window must be positive")
    means = []
    for start in range(len(values) - window):
        part = values[start : start + window]
        means.append(sum(part) / window)
    return means


def longest_growth(values):
    """Length of the longest run in which each value is above the one before it."""
    best = current = 1 if values else 0
    for before, after in zip(values, values[1:]):
        current = current + 1 if after > before else 1
        best = max(best, current)
    return best
