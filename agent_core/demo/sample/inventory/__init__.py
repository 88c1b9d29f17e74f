"""Stock, orders and reorder reports of a small warehouse."""

from inventory.catalog import Catalog, Product
from inventory.money import Money
from inventory.orders import Order, OrderBook
from inventory.stock import Stock, StockLine

__all__ = ["Catalog", "Money", "Order", "OrderBook", "Product", "Stock", "StockLine"]
