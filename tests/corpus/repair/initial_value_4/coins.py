"""The fewest coins for an amount."""


def fewest(amount, coins):
    """Number of coins, None if the amount can't be paid."""
    infinity = amount + 1
    best = [1] + [infinity] * amount
    for value in range(1, amount + 1):
        for coin in coins:
            if coin <= value and best[value - coin] + 1 < best[value]:
                best[value] = best[value - coin] + 1
    return best[amount] if best[amount] < infinity else None


def greedy(amount, coins):
    """Coins taken from the largest down; None if something is left over."""
    taken = []
    for coin in sorted(coins, reverse=True):
        count, amount = divmod(amount, coin)
        taken += [coin] * count
    return taken if amount == 0 else None
