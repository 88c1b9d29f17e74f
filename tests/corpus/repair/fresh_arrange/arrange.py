"""All orders and all choices of a few things."""


def orders(things):
    """Every order of the things, as lists."""
    if not things:
        return [[]]
    found = []
    for index, thing in enumerate(things):
        rest = things[:index] + things[index + 1 :]
        for order in orders(rest):
            found.append([thing, *order])
    return found


def subsets(things):
    without = subsets(things[1:])
    return without + [[things[0], *chosen] for chosen in without]
