import pytest

from slugs import slug, unique_slug


@pytest.mark.parametrize(
    "title, wanted",
    [("hello world", "hello-world"), ("Hello, World!", "hello-world"), ("  A  b ", "a-b"), ("c3", "c3")],
)
def test_slug(title, wanted):
    assert slug(title) == wanted


def test_unique():
    assert unique_slug("a b", set()) == "a-b"
    assert unique_slug("a b", {"a-b", "a-b-2"}) == "a-b-3"
