import pytest

from search_index import Index


@pytest.fixture
def index():
    index = Index()
    index.add("a", "red green")
    index.add("b", "Green blue")
    index.add("c", "yellow")
    return index


def test_all(index):
    assert index.find_all("green") == ["a", "b"]
    assert index.find_all("green blue") == ["b"]
    assert index.find_all("green pink") == []


def test_any(index):
    assert index.find_any("red blue") == ["a", "b"]


def test_any_unknown(index):
    assert index.find_any("pink") == []
