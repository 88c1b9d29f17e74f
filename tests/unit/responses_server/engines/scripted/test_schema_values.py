"""Values for schemas: each is checked against the very schema that it was made for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.engines.scripted.pattern_text import pattern_text
from agent_core.responses_server.engines.scripted.schema_values import example


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """A small independent judge for the keywords that the strategies below use."""
    kinds: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kind = schema["type"]
    if "enum" in schema:
        return bool(value in schema["enum"])
    if kind in ("integer", "number"):
        wanted = int if kind == "integer" else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted):
            return False
        low, high, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
        above = schema.get("exclusiveMinimum")
        if (low is not None and value < low) or (high is not None and value > high):
            return False
        return (above is None or value > above) and (step is None or value % step == 0)
    if not isinstance(value, kinds[kind]):
        return False
    if kind == "string":
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9))
    if kind == "array":
        return len(value) >= schema.get("minItems", 0) and all(fits(one, schema["items"]) for one in value)
    if kind == "object":
        given_names, properties = set(value), schema["properties"]
        required = set(schema["required"])
        return required <= given_names <= set(properties) and all(fits(value[n], properties[n]) for n in value)
    return True


_leaves: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": "string", "enum": ["a", "b"]}),
    st.builds(
        lambda low, size: {"type": "string", "minLength": low, "maxLength": low + size},
        st.integers(0, 30),
        st.integers(0, 9),
    ),
    st.builds(
        lambda low, size: {"type": "integer", "minimum": low, "maximum": low + size},
        st.integers(-50, 50),
        st.integers(0, 20),
    ),
    st.builds(lambda above: {"type": "integer", "exclusiveMinimum": above}, st.integers(-50, 50)),
    st.builds(
        lambda low, step: {"type": "integer", "minimum": low, "multipleOf": step},
        st.integers(-50, 50),
        st.integers(1, 9),
    ),
    st.builds(lambda high: {"type": "number", "maximum": high}, st.floats(-50, 50)),
)


def _nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.builds(
        lambda properties, share: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties)[: len(properties) * share // 2],
        },
        st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
        st.integers(0, 2),
    )
    return objects | st.builds(
        lambda items, n: {"type": "array", "items": items, "minItems": n}, inner, st.integers(0, 3)
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(_leaves, _nested, max_leaves=8))
def test_values_fit(schema: dict[str, Any]) -> None:
    assert fits(example(schema), schema)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, {}),
        ({"type": "object"}, {}),
        ({"properties": {"a": {}}, "required": ["a"]}, {"a": "example"}),
        ({"const": 7}, 7),
        ({"type": "string", "default": "d"}, "d"),
        ({"type": "string", "examples": ["e"]}, "e"),
        ({"type": ["null", "integer"]}, 1),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
        ({"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}}}]}, {"a": True}),
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "string", "pattern": "^[A-Z]{3}-\\d{2,4}$"}, "AAA-00"),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "integer"}}, [1, 2, 3]),
        ({"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["x", "y", "z"]}}, ["x", "y"]),
        ({"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 2, "items": {"type": "null"}}, [1, None]),
        (
            {
                "type": "object",
                "required": ["point"],
                "properties": {"point": {"$ref": "#/$defs/point"}},
                "$defs": {"point": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}}},
            },
            {"point": {"x": 1}},
        ),
        ({"$ref": "#/$defs/missing"}, "example"),
    ],
)
def test_known_schemas(schema: dict[str, Any], value: Any) -> None:
    assert example(schema) == value


def test_a_schema_that_refers_to_itself_ends() -> None:
    node = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}
    assert "next" in example(node)


@pytest.mark.parametrize(
    "pattern",
    [
        "^abc$",
        "a|b",
        "[^a-z]",
        r"\d+\.\d*",
        r"(?:x|y){2,}",
        r"^\w[\w-]*$",
        ".",
        "[A-Fa-f0-9]{8}",
        r"\s\S\W",
        "x+?",
        "",
        "[^abc]d",
    ],
)
def test_patterns(pattern: str) -> None:
    assert re.search(pattern, pattern_text(pattern)) is not None
    longer = pattern_text(pattern, 4)
    assert re.search(pattern, longer) is not None


def test_a_pattern_that_can_not_be_read() -> None:
    assert pattern_text("(") == ""
    assert len(pattern_text("^[a-z]*$", 12)) == 12
