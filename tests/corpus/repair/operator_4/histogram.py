"""Counts of values in buckets of equal width."""


def bucket(value, low, width):
    """Number of the bucket, from 0."""
    return int(value - low // width)


def histogram(values, low, width, count):
    """Counts per bucket; values beyond the last one are counted there."""
    counts = [0] * count
    for value in values:
        counts[min(bucket(value, low, width), count - 1)] += 1
    return counts


def bars(counts, height=10):
    """Counts as texts whose longest is `height` characters long."""
    top = max(counts)
    if top == 0:
        return ["" for _ in counts]
    return ["#" * (count * height // top) for count in counts]
