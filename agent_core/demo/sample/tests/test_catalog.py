import unittest

from inventory.catalog import Catalog, Product
from inventory.money import Money
from inventory.pricing import discount_rate, gross, line_total, shipping

BOLT = Product("B-10", "Steel bolt M6", Money(25), pack_size=50)
NUT = Product("A-20", "Steel nut M6", Money(10), pack_size=100)
GLUE = Product("G-01", "Wood glue", Money(899))


class CatalogTest(unittest.TestCase):
    def setUp(self):
        self.catalog = Catalog([BOLT, NUT, GLUE])

    def test_a_product_is_added_once_and_listed_by_sku(self):
        self.assertIs(self.catalog.get("G-01"), GLUE)
        self.assertEqual([item.sku for item in self.catalog], ["A-20", "B-10", "G-01"])
        self.assertEqual((len(self.catalog), GLUE.pack_size), (3, 1))
        with self.assertRaises(KeyError):
            self.catalog.get("Z-1")
        with self.assertRaises(ValueError):
            self.catalog.add(BOLT)
        with self.assertRaises(ValueError):
            self.catalog.add(Product("Z-1", "Empty pack", Money(1), pack_size=0))

    def test_find_needs_all_words(self):
        self.assertEqual(self.catalog.find("steel m6"), [BOLT, NUT])
        self.assertEqual(self.catalog.find("wood"), [GLUE])
        self.assertEqual(self.catalog.find("wood bolt"), [])


class PricingTest(unittest.TestCase):
    def test_discount_starts_at_its_minimum(self):
        rates = {1: 0, 9: 0, 10: 3, 49: 3, 50: 8, 99: 8, 100: 12, 500: 12}
        self.assertEqual({quantity: discount_rate(quantity) for quantity in rates}, rates)

    def test_line_total_takes_the_discount_off(self):
        self.assertEqual(line_total(GLUE, 2), Money(1798))
        self.assertEqual(line_total(BOLT, 50), Money(1150))
        self.assertEqual(gross(Money(1000)), Money(1200))

    def test_shipping_is_free_from_150(self):
        self.assertEqual(shipping(Money(14999)), Money(690))
        self.assertEqual(shipping(Money(15000)), Money(0))


if __name__ == "__main__":
    unittest.main()
