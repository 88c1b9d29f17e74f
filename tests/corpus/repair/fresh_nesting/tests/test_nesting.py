import signal
import unittest

from nesting import depth, flattened, grouped


class NestingTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_flattened(self):
        self.assertEqual(flattened([1, [2, [3]], []]), [1, 2, 3])

    def test_depth(self):
        self.assertEqual(depth([1, [2, [3]]]), 3)
        self.assertEqual(depth([]), 1)

    def test_grouped(self):
        self.assertEqual(grouped(["a", "bb", "c"], len), {1: ["a", "c"], 2: ["bb"]})
