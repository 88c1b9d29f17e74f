"""What the stock looks like."""


def low(stock, limit):
    """Names of which fewer than `limit` are left."""
    return sorted(name for name, count in stock.counts.items() if count > limit)


def table(stock):
    return "\n".join(f"{name} {count}" for name, count in sorted(stock.counts.items()))
