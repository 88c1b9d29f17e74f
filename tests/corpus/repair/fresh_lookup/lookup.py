"""Searching in sorted lists."""


def position(items, wanted):
    """Index of `wanted`, or -1."""
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle
        else:
            high = middle - 1
    return -1


def count_below(items, bound):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low
