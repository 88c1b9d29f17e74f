"""Hypothesis strategies made from the wire schema: objects of every kind, with and without their optional fields."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agent_core.wire.schema import Array, Choice, Fields, Map, Ref, Scalar, Schema, Spec, load_schema, members

_WRITTEN = "annotations logprobs summary sequence_number".split()  # noqa: SIM905 (reads better)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
"""Any JSON value that every reader must take."""

objects = st.dictionaries(st.text(max_size=4), json_values, max_size=3)


class Strategies:
    """`additions` puts unknown fields into every object."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._types: dict[str, st.SearchStrategy[dict[str, Any]]] = {}

    def events(self) -> st.SearchStrategy[dict[str, Any]]:
        events = {tag: f for tag, f in self._schema.server_events.items() if "response" not in f}
        return st.one_of([self._object(fields, tag) for tag, fields in events.items()])

    def items(self) -> st.SearchStrategy[dict[str, Any]]:
        found = [self._object(self._schema.merged(tag, names), tag) for tag, names in self._schema.items.items()]
        return st.one_of(found)

    def tools(self) -> st.SearchStrategy[dict[str, Any]]:
        return st.one_of(
            [self._object(self._schema.merged(tag, names), tag) for tag, names in self._schema.tools.items()]
        )

    def creates(self) -> st.SearchStrategy[dict[str, Any]]:
        fields = self._schema.client_events["response.create"]
        plain = {n: f for n, f in fields.items() if n not in ("input", "tools", "tool_choice", "prompt")}
        return self._object(plain, "response.create")

    def _object(self, fields: Fields, tag: str | None) -> st.SearchStrategy[dict[str, Any]]:
        needed: dict[str, st.SearchStrategy[Any]] = {}
        free: dict[str, st.SearchStrategy[Any]] = {}
        for name, field in fields.items():
            value = st.just(tag) if name == "type" and tag is not None else self._value(field.spec, name)
            wanted = field.required or name == "type" or name in _WRITTEN
            (needed if wanted else free)[name] = value
        return st.fixed_dictionaries(needed, optional=free)

    def _value(self, spec: Spec, name: str = "") -> st.SearchStrategy[Any]:
        return st.one_of([self._one(m, name) for m in members(spec) if m != Scalar("null")])

    def _one(self, spec: Spec, name: str) -> st.SearchStrategy[Any]:
        match spec:
            case Choice(values):
                return st.sampled_from(values)
            case Array(item):
                return st.lists(self._value(item, name), max_size=2)
            case Map(value):
                return st.dictionaries(st.text(max_size=4), self._value(value, name), max_size=2)
            case Ref(type_name):
                return self._type(type_name)
            case Scalar("str"):
                return st.text(min_size=1, max_size=8)
            case Scalar("int"):
                return st.integers(-(2**53), 2**53)
            case Scalar("float"):
                return st.floats(allow_nan=False, allow_infinity=False)
            case Scalar("bool"):
                return st.booleans()
        return (
            objects if name in ("parameters", "input_schema") else json_values.filter(lambda value: value is not None)
        )

    def _type(self, name: str) -> st.SearchStrategy[dict[str, Any]]:
        if name not in self._types:
            self._types[name] = st.deferred(lambda: self._object(self._schema.types[name], self._schema.tag_of(name)))
        return self._types[name]


strategies = Strategies(load_schema())
