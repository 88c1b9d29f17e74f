import signal
import unittest

from tags import by_tag, common_tags, tag_cloud

ARTICLES = [("One", ["python", "web"]), ("Two", ["python"]), ("Three", ["web", "python", "css"])]


class TagsTest(unittest.TestCase):
    def setUp(self):
        def stop(number, frame):
            raise TimeoutError("the test ran for more than 5 s")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(5)
        self.addCleanup(signal.alarm, 0)

    def test_groups(self):
        self.assertEqual(by_tag(ARTICLES)["web"], ["One", "Three"])

    def test_common(self):
        self.assertEqual(common_tags(ARTICLES), {"python"})

    def test_common_none(self):
        self.assertEqual(common_tags([]), set())
        self.assertEqual(common_tags([("A", ["x"]), ("B", ["y"])]), set())

    def test_cloud(self):
        self.assertEqual(tag_cloud(ARTICLES), {"css": 1, "python": 3, "web": 2})
