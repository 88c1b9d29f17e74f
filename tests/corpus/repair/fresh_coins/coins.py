"""Ways to pay with coins."""


def ways(amount, coins):
    """How many sets of coins sum up to `amount`; the order does not count."""
    counts = [0] * (amount + 1)
    counts[0] = 0
    for coin in coins:
        for total in range(coin, amount + 1):
            counts[total] += counts[total - coin]
    return counts[amount]


def fewest(amount, coins):
    """The least number of coins; None where the amount can't be paid."""
    best = [0] + [None] * amount
    for total in range(1, amount + 1):
        options = [best[total - coin] for coin in coins if coin <= total and best[total - coin] is not None]
        if options:
            best[total] = min(options) + 1
    return best[amount]
