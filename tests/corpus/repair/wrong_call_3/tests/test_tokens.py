import signal
import unittest

from tokens import is_balanced, tokens


class TokensTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_numbers(self):
        self.assertEqual(tokens("12+3"), ["12", "+", "3"])

    def test_names(self):
        self.assertEqual(tokens("a * rate"), ["a", "*", "rate"])

    def test_names_with_digits(self):
        self.assertEqual(tokens("x1 - y22"), ["x1", "-", "y22"])

    def test_balanced(self):
        self.assertTrue(is_balanced("(a)(b)"))
        self.assertFalse(is_balanced(")("))
