import signal
import unittest

from ledger import longest_growth, moving_average, running_totals


class LedgerTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_totals(self):
        self.assertEqual(running_totals([1, 2, 3]), [1, 3, 6])

    def test_average_of_pairs(self):
        self.assertEqual(moving_average([1, 3, 5, 7], 2), [2, 4, 6])

    def test_window_as_long_as_the_list(self):
        self.assertEqual(moving_average([2, 4], 2), [3])

    def test_window_too_long(self):
        self.assertEqual(moving_average([1], 3), [])

    def test_growth(self):
        self.assertEqual(longest_growth([3, 4, 5, 1, 2]), 3)
        self.assertEqual(longest_growth([]), 0)


if __name__ == "__main__":
    unittest.main()
