import signal
import unittest

from geometry import Box


class BoxTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_edges(self):
        box = Box(2, 3, 10, 4)
        self.assertEqual((box.right, box.bottom), (12, 7))

    def test_area(self):
        self.assertEqual(Box(0, 0, 3, 5).area, 15)

    def test_contains(self):
        box = Box(0, 0, 4, 2)
        self.assertTrue(box.contains(3, 1))
        self.assertFalse(box.contains(3, 2))

    def test_intersection(self):
        common = Box(0, 0, 10, 4).intersection(Box(5, 2, 10, 10))
        self.assertEqual((common.left, common.top, common.width, common.height), (5, 2, 5, 2))

    def test_apart(self):
        self.assertIsNone(Box(0, 0, 1, 1).intersection(Box(5, 5, 1, 1)))
