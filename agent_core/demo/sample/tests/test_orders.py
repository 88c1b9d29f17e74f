import unittest

from inventory.loader import LoadError, load
from inventory.money import Money
from inventory.orders import CANCELLED, PLACED, SHIPPED, OrderBook
from inventory.report import reorder_list, reorder_quantity, share, stock_value, table
from inventory.stock import OutOfStock, StockLine

GOODS = """sku;name;price;pack;on_hand;reorder_at
A-10;Hinge;2.50;10;40;20
B-20;Screw box;8.00;4;9;10

C-30;Oak board;31.90;1;6;2
"""


class OrderTest(unittest.TestCase):
    def setUp(self):
        self.catalog, self.stock = load(GOODS)
        self.book = OrderBook(self.catalog, self.stock)

    def order(self, **lines):
        order = self.book.open("Ida")
        for sku, quantity in lines.items():
            order.add(sku.replace("_", "-"), quantity)
        return order

    def test_a_placed_order_reserves_and_a_shipped_one_takes(self):
        order = self.order(B_20=4)
        self.book.place(order)
        self.assertEqual((order.state, self.stock.line("B-20").available), (PLACED, 5))
        self.assertEqual(self.book.open_orders(), [order])
        self.book.ship(order)
        self.assertEqual((order.state, self.stock.line("B-20").on_hand), (SHIPPED, 5))
        with self.assertRaises(ValueError):
            self.book.cancel(order)

    def test_an_order_is_placed_as_a_whole(self):
        order = self.order(B_20=9, C_30=7)
        with self.assertRaises(OutOfStock):
            self.book.place(order)
        self.assertEqual([line.reserved for line in self.stock], [0, 0, 0])

    def test_can_place_looks_at_every_line(self):
        self.assertTrue(self.book.can_place(self.order(B_20=9, C_30=6)))
        self.assertFalse(self.book.can_place(self.order(B_20=9, C_30=7)))

    def test_a_cancelled_order_gives_back(self):
        order = self.order(B_20=2)
        self.book.place(order)
        with self.assertRaises(ValueError):
            order.add("B-20", 1)
        self.assertIs(self.book.get(1), order)
        self.book.cancel(order)
        self.assertEqual((order.state, self.stock.line("B-20").reserved), (CANCELLED, 0))
        with self.assertRaises(ValueError):
            self.book.place(self.order())

    def test_total_has_discount_shipping_and_tax(self):
        order = self.order(A_10=9)
        order.add("A-10", 1)
        with self.assertRaises(ValueError):
            order.add("A-10", 0)
        self.assertEqual(self.book.net(order), Money(2425))
        self.assertEqual(self.book.total(order), Money(3738))
        large = self.order(C_30=5)
        self.assertEqual(self.book.total(large), Money(19140))


class ReportTest(unittest.TestCase):
    def test_value_and_reorder_list(self):
        catalog, stock = load(GOODS)
        self.assertEqual(stock_value(catalog, stock), Money(36340))
        self.assertEqual(reorder_list(catalog, stock), [("B-20", 4)])
        needed = [reorder_quantity(StockLine("X", on_hand=pieces, reorder_at=5), 3) for pieces in (6, 5, 3, 2)]
        self.assertEqual(needed, [0, 3, 3, 6])
        self.assertEqual(share(1, 3), "33.3 %")
        self.assertEqual(share(0, 0), "-")
        self.assertEqual(table(catalog, stock).split("\n")[1], "B-20  Screw box      9 of     9   100.0 %")

    def test_a_bad_row_is_named_by_its_line(self):
        with self.assertRaisesRegex(LoadError, "^line 2: not an amount"):
            load(GOODS.replace("2.50", "cheap"))
        with self.assertRaisesRegex(LoadError, "^line 1: expected the columns"):
            load("sku;name\n")
        with self.assertRaisesRegex(LoadError, "^line 5: 2 fields"):
            load(GOODS.replace("C-30;Oak board;31.90;1;6;2", "C-30;Oak board"))


if __name__ == "__main__":
    unittest.main()
