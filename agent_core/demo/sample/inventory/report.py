"""The reports of Monday morning."""

from inventory.money import ZERO


def stock_value(catalog, stock):
    """Base prices of everything on the shelves."""
    total = ZERO
    for line in stock:
        total = total + catalog.get(line.sku).price.times(line.on_hand)
    return total


def reorder_quantity(line, pack_size):
    """Pieces to order so that the line gets above its reorder level, in whole packs; 0 if it is above."""
    missing = line.reorder_at - line.available + 1
    if missing <= 0:
        return 0
    packs = -(-missing // pack_size)
    return packs * pack_size


def reorder_list(catalog, stock):
    """(sku, pieces) for all low lines, in order of SKU."""
    found = []
    for line in stock.low():
        pieces = reorder_quantity(line, catalog.get(line.sku).pack_size)
        found.append((line.sku, pieces))
    return found


def share(part, whole):
    """`part` of `whole` in per cent with one decimal; "-" if there is nothing."""
    if whole == 0:
        return "-"
    return f"{100 * part / whole:.1f} %"


def table(catalog, stock):
    """One row per stock line: SKU, name, free of all, share that is free."""
    width = max((len(catalog.get(line.sku).name) for line in stock), default=0)
    rows = []
    for line in stock:
        name = catalog.get(line.sku).name.ljust(width)
        free = share(line.available, line.on_hand)
        rows.append(f"{line.sku}  {name}  {line.available:>5} of {line.on_hand:>5}  {free:>8}")
    return "\n".join(rows)
