import pytest

from toposort import Cycle, order


def test_independent():
    assert order({"b": [], "a": []}) == ["a", "b"]


def test_chain():
    assert order({"a": ["b"], "b": ["c"], "c": []}) == ["c", "b", "a"]


def test_diamond():
    assert order({"d": ["b", "c"], "b": ["a"], "c": ["a"]}) == ["a", "b", "c", "d"]


def test_cycle():
    with pytest.raises(Cycle):
        order({"a": ["b"], "b": ["a"]})
