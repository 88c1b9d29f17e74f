import signal
import unittest

from calendar_tools import day_of_year, is_leap, is_valid, month_length


class CalendarTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_leap(self):
        self.assertTrue(is_leap(2024))
        self.assertTrue(is_leap(2000))

    def test_common(self):
        self.assertFalse(is_leap(2023))
        self.assertFalse(is_leap(1900))

    def test_lengths(self):
        self.assertEqual(month_length(2024, 2), 29)
        self.assertEqual(month_length(2023, 2), 28)

    def test_day_of_year(self):
        self.assertEqual(day_of_year(2024, 3, 1), 61)

    def test_valid(self):
        self.assertTrue(is_valid(2024, 2, 29))
        self.assertFalse(is_valid(2023, 13, 1))
