import unittest

from menu import depth, find, outline

MENU = [
    {"label": "File", "children": [{"label": "Open"}, {"label": "Recent", "children": [{"label": "a.txt"}]}]},
    {"label": "Edit"},
]


class MenuTest(unittest.TestCase):
    def test_find(self):
        self.assertEqual(find(MENU, "a.txt"), ("File", "Recent", "a.txt"))
        self.assertIsNone(find(MENU, "Nothing"))

    def test_depth(self):
        self.assertEqual(depth(MENU), 3)

    def test_outline(self):
        self.assertEqual(outline(MENU), ["File", "  Open", "  Recent", "    a.txt", "Edit"])

    def test_empty(self):
        self.assertEqual(outline([]), [])
