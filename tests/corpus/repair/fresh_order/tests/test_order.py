import pytest
from order import Circle, ordered


def test_chain():
    assert ordered({"c": ["b"], "b": ["a"], "a": []}) == ["a", "b", "c"]


def test_diamond():
    needs = {"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": []}
    assert ordered(needs) == ["a", "b", "c", "d"]


def test_circle():
    with pytest.raises(Circle):
        ordered({"a": ["b"], "b": ["a"]})


def test_empty():
    assert ordered({}) == []
