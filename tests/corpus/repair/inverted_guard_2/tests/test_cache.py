import signal
import unittest

from cache import LruCache


class LruCacheTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)
        self.cache = LruCache(2)
        self.cache.put("a", 1)
        self.cache.put("b", 2)

    def test_get(self):
        self.assertEqual(self.cache.get("a"), 1)

    def test_default(self):
        self.assertIsNone(self.cache.get("z"))
        self.assertEqual(self.cache.get("z", 7), 7)

    def test_oldest_goes(self):
        self.cache.put("c", 3)
        self.assertEqual(self.cache.keys(), ["b", "c"])

    def test_use_keeps(self):
        self.cache.get("a")
        self.cache.put("c", 3)
        self.assertEqual(self.cache.keys(), ["a", "c"])
