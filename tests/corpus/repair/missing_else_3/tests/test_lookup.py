import signal
import unittest

from inventory.lookup import Catalog

NUT = {"number": 7, "name": "Nut"}
BOLT = {"number": 12, "name": "Bolt"}


class CatalogTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)
        self.catalog = Catalog([NUT, BOLT])

    def test_by_name(self):
        self.assertIs(self.catalog.by_name("bolt"), BOLT)
        self.assertIsNone(self.catalog.by_name("screw"))

    def test_find_name(self):
        self.assertIs(self.catalog.find("NUT"), NUT)

    def test_find_number(self):
        self.assertIs(self.catalog.find("12"), BOLT)

    def test_find_unknown(self):
        self.assertIsNone(self.catalog.find("99"))
