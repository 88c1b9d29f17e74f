"""Reads the supplier's CSV: sku;name;price;pack;on_hand;reorder_at."""

import csv
import io

from inventory.catalog import Catalog, Product
from inventory.money import Money
from inventory.stock import Stock, StockLine

COLUMNS = ["sku", "name", "price", "pack", "on_hand", "reorder_at"]


class LoadError(ValueError):
    """A row that can't be used; the message starts with its line number."""


def load(text):
    """Catalogue and stock from the text of a file. Empty rows are skipped."""
    rows = csv.reader(io.StringIO(text), delimiter=";")
    header = next(rows, None)
    if header != COLUMNS:
        raise LoadError(f"line 1: expected the columns {', '.join(COLUMNS)}")
    catalog, stock = Catalog(), Stock()
    for row in rows:
        if not row:
            continue
        if len(row) != len(COLUMNS):
            raise LoadError(f"line {rows.line_num}: {len(row)} fields instead of {len(COLUMNS)}")
        sku, name, price, pack, on_hand, reorder_at = (value.strip() for value in row)
        try:
            catalog.add(Product(sku, name, Money.parse(price), int(pack)))
            stock.add(StockLine(sku, on_hand=int(on_hand), reorder_at=int(reorder_at)))
        except ValueError as error:
            raise LoadError(f"line {rows.line_num}: {error}") from error
    return catalog, stock
