"""Intervals as (start, end) pairs with start <= end."""


def overlap(first, second):
    """Whether two intervals share a point."""
    return first[0] <= second[1] and second[0] <= first[1]


def merge(intervals):
    """Overlapping intervals joined, in ascending order."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def covered(intervals):
    """Total length that intervals cover."""
    return sum(end - start for start, end in merge(intervals))


def gaps(intervals):
    """Intervals between the merged ones."""
    merged = merge(intervals)
    return [(before[1], after[0]) for before, after in zip(merged, merged[1:])]
