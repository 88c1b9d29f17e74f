import pytest

from schema import Schema


def test_defaults():
    assert Schema({"a": 1, "b": 2}).record(b=3) == {"a": 1, "b": 3}


def test_records_are_apart():
    schema = Schema({"a": 1})
    schema.record(a=5)
    assert schema.record() == {"a": 1}


def test_unknown():
    with pytest.raises(TypeError):
        Schema({"a": 1}).record(x=1)


def test_with_field():
    assert Schema({"a": 1}).with_field("b", 2).fields == ["a", "b"]
