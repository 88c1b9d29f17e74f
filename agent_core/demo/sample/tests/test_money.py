import unittest

from inventory.money import Money


class MoneyTest(unittest.TestCase):
    def test_parse_reads_whole_and_cents(self):
        self.assertEqual(Money.parse("12.50"), Money(1250))
        self.assertEqual(Money.parse(" 7 "), Money(700))
        self.assertEqual(Money.parse("-3.05"), Money(-305))

    def test_parse_refuses_what_is_no_amount(self):
        for text in ("", "1.5", "1,50", "twelve", "1.505"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                Money.parse(text)

    def test_percent_rounds_half_a_cent_away_from_zero(self):
        self.assertEqual(Money(50).percent(3), Money(2))
        self.assertEqual(Money(7).percent(7), Money(0))
        self.assertEqual(Money(-50).percent(3), Money(-2))
        self.assertEqual(Money(1000).percent(20), Money(200))

    def test_split_loses_no_cent(self):
        self.assertEqual(Money(100).split(3), [Money(34), Money(33), Money(33)])
        self.assertEqual(Money(5).split(1), [Money(5)])
        with self.assertRaises(ValueError):
            Money(100).split(0)

    def test_text_has_two_decimals_and_a_sign(self):
        self.assertEqual(str(Money(5)), "0.05")
        self.assertEqual(str(Money(-1205)), "-12.05")
        self.assertEqual(str(Money(0)), "0.00")


if __name__ == "__main__":
    unittest.main()
