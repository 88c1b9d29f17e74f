import signal
import unittest

from circle import Circle, distance


class FiguresTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_area(self):
        self.assertAlmostEqual(Circle(2).area(), 12.566370614)

    def test_scaled(self):
        self.assertEqual(Circle(2).scaled(3).radius, 6)

    def test_distance(self):
        self.assertEqual(distance((0, 0), (3, 4)), 5)
