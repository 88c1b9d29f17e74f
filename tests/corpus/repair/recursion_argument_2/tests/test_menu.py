import signal
import unittest

from menu import depth, find, outline

MENU = [
    {"label": "File", "children": [{"label": "Open"}, {"label": "Recent", "children": [{"label": "a.txt"}]}]},
    {"label": "Edit"},
]


class MenuTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_find(self):
        self.assertEqual(find(MENU, "a.txt"), ("File", "Recent", "a.txt"))
        self.assertIsNone(find(MENU, "Nothing"))

    def test_depth(self):
        self.assertEqual(depth(MENU), 3)

    def test_outline(self):
        self.assertEqual(outline(MENU), ["File", "  Open", "  Recent", "    a.txt", "Edit"])

    def test_empty(self):
        self.assertEqual(outline([]), [])
