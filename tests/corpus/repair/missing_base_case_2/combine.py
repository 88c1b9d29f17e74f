"""Ways to combine things."""


def subsets(items):
    """All subsets of a list, each in the order of the list."""
    if not items:
        return [[]]
    rest = subsets(items[1:])
    return rest + [[items[0], *chosen] for chosen in rest]


def change(amount, coins):
    """Number of ways to pay an amount with coins of these values, each as often as one likes."""
    if amount < 0 or not coins:
        return 0
    return change(amount - coins[0], coins) + change(amount, coins[1:])


def flatten(value):
    """Nested lists as one list."""
    if not isinstance(value, list):
        return [value]
    return [leaf for item in value for leaf in flatten(item)]
