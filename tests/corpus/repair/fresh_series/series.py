"""Smoothing of series of measurements."""


def moving_average(values, size):
    """The mean of every `size` values in a row."""
    if size <= 0:
        raise ValueError("size must be positive")
    result = []
    window = sum(values[:size])
    for index in range(size, len(values) + 1):
        result.append(window / index)
        if index < len(values):
            window += values[index] - values[index - size]
    return result


def cumulative(values):
    total, result = 0, []
    for value in values:
        total += value
        result.append(total)
    return result
