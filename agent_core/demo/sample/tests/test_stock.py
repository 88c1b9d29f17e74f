import unittest

from inventory.stock import OutOfStock, Stock, StockLine


def shelf():
    return Stock(
        [
            StockLine("D-40", on_hand=7, reorder_at=2),
            StockLine("A-10", on_hand=12, reserved=2, reorder_at=10),
            StockLine("C-30", on_hand=20, reorder_at=5),
            StockLine("B-20", on_hand=3, reorder_at=4),
        ]
    )


class StockTest(unittest.TestCase):
    def setUp(self):
        self.stock = shelf()

    def test_lines_are_kept_in_order(self):
        self.assertEqual([line.sku for line in self.stock], ["A-10", "B-20", "C-30", "D-40"])
        self.assertEqual(len(self.stock), 4)
        with self.assertRaises(ValueError):
            self.stock.add(StockLine("C-30"))

    def test_every_line_is_found(self):
        found = [self.stock.find(line.sku) for line in self.stock]
        self.assertEqual(found, list(self.stock))

    def test_what_was_never_stocked_is_not_found(self):
        for sku in ("A-00", "B-21", "E-50", ""):
            self.assertIsNone(self.stock.find(sku))
        self.assertIsNone(Stock().find("A-10"))
        self.assertEqual(self.stock.available("E-50"), 0)
        with self.assertRaises(KeyError):
            self.stock.line("E-50")

    def test_a_single_line_is_found(self):
        single = Stock([StockLine("A-10", on_hand=1)])
        self.assertEqual(single.available("A-10"), 1)

    def test_receive_opens_and_fills_lines(self):
        self.stock.receive("C-30", 5)
        self.stock.receive("C-35", 1)
        found = {line.sku: line.on_hand for line in self.stock}
        self.assertEqual(found, {"A-10": 12, "B-20": 3, "C-30": 25, "C-35": 1, "D-40": 7})
        with self.assertRaises(ValueError):
            self.stock.receive("C-30", 0)

    def test_pieces_are_reserved_up_to_the_last_and_given_back(self):
        self.stock.reserve("B-20", 3)
        self.assertEqual(self.stock.line("B-20").available, 0)
        with self.assertRaises(OutOfStock):
            self.stock.reserve("B-20", 1)
        self.stock.release("B-20", 3)
        self.assertEqual(self.stock.line("B-20").available, 3)
        with self.assertRaises(ValueError):
            self.stock.release("B-20", 1)

    def test_low_and_between_include_their_limits(self):
        self.assertEqual([line.sku for line in self.stock.low()], ["A-10", "B-20"])
        self.assertEqual([line.sku for line in self.stock.between("B-20", "C-30")], ["B-20", "C-30"])


if __name__ == "__main__":
    unittest.main()
