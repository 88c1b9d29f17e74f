import signal
import unittest

from dates import day_after, days_in, is_leap


class DatesTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_leap(self):
        self.assertTrue(is_leap(2024))
        self.assertTrue(is_leap(2000))
        self.assertFalse(is_leap(1900))
        self.assertFalse(is_leap(2023))

    def test_february(self):
        self.assertEqual(days_in(2024, 2), 29)
        self.assertEqual(days_in(2023, 2), 28)

    def test_day_after(self):
        self.assertEqual(day_after(2023, 2, 28), (2023, 3, 1))
        self.assertEqual(day_after(2023, 12, 31), (2024, 1, 1))
