"""Cuts streams of items into groups."""


def chunks(items, size):
    """Lists of `size` items; the last may be shorter."""
    found = []
    current = []
    for item in items:
        current.append(item)
        if len(current) == size:
            found.append(current)
            current = []
    if current:
        found.append(current)
    return found


def runs(items):
    """(item, length) of runs of equal neighbours."""
    found = []
    for item in items:
        if found and found[-1][0] == item:
            found[-1] = (item, found[-1][1] + 1)
        else:
            found.append((item, 1))
    return found


def index_of_first(items, accept):
    """Position of the first accepted item, -1 if there is none."""
    for position, item in enumerate(items):
        if accept(item):
            return position
        return -1
