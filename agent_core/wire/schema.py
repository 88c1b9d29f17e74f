"""The schema file as values: its small type language parsed, and the questions that generator and tests ask of it.

`schema.json` has two parts. `vendor` is what the vendor's SDK states, written by `generate --from-sdk` and never by hand.
`ours` is what we add or relax, with nothing in it that the vendor part already says. Types are written as
`str | int | float | bool | null | object | array<T> | map<str,T> | "a"|"b" | ClassName`, joined by ` | `; `object` is any
JSON value and a trailing `?` marks a field that may be absent.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA_PATH = Path(__file__).with_name("schema.json")
SCALARS = ("str", "int", "float", "bool", "null", "object")

_TOKEN = re.compile(r'"[^"]*"|[A-Za-z_][A-Za-z0-9_.]*|[<>,|]')


@dataclass(frozen=True)
class Scalar:
    name: str


@dataclass(frozen=True)
class Choice:
    """One of some strings."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class Ref:
    """An object of the named type."""

    name: str


@dataclass(frozen=True)
class Array:
    item: Spec


@dataclass(frozen=True)
class Map:
    value: Spec


@dataclass(frozen=True)
class Union:
    members: tuple[Spec, ...]


Spec = Scalar | Choice | Ref | Array | Map | Union


@dataclass(frozen=True)
class Field:
    spec: Spec
    required: bool


Fields = dict[str, Field]


def parse_spec(text: str) -> Spec:
    """Parse one type. Raises ValueError on text outside the language."""
    tokens = _TOKEN.findall(text)
    spec, rest = _union(tokens)
    if rest or "".join(tokens) != text.replace(" ", ""):
        raise ValueError(f"not a type: {text!r}")
    return spec


def parse_field(text: str) -> Field:
    return Field(parse_spec(text.removesuffix("?")), required=not text.endswith("?"))


def _union(tokens: list[str]) -> tuple[Spec, list[str]]:
    members: list[Spec] = []
    while True:
        spec, tokens = _single(tokens)
        if isinstance(spec, Choice) and members and isinstance(members[-1], Choice):
            members[-1] = Choice(members[-1].values + spec.values)
        elif spec not in members:
            members.append(spec)
        if not tokens or tokens[0] != "|":
            break
        tokens = tokens[1:]
    return (members[0] if len(members) == 1 else Union(tuple(members))), tokens


def _single(tokens: list[str]) -> tuple[Spec, list[str]]:
    if not tokens:
        raise ValueError("type ends too early")
    head, rest = tokens[0], tokens[1:]
    if head.startswith('"'):
        return Choice((head[1:-1],)), rest
    if head == "array":
        item, rest = _union(rest[1:])
        return Array(item), rest[1:]
    if head == "map":
        value, rest = _union(rest[3:])
        return Map(value), rest[1:]
    if head in SCALARS:
        return Scalar(head), rest
    return Ref(head), rest


def members(spec: Spec) -> tuple[Spec, ...]:
    return spec.members if isinstance(spec, Union) else (spec,)


class Schema:
    """Parsed `schema.json`. All maps are in file order, which is the order of the generated code."""

    def __init__(self, data: dict[str, Any]) -> None:
        vendor, ours = data["vendor"], data["ours"]
        self.types = {name: _fields(f) for name, f in {**vendor["types"], **ours["types"]}.items()}
        self.server_events = _events(vendor["server_events"], ours["server_events"], {})
        self.client_events = _events(vendor["client_events"], ours["client_events"], ours["client_event_fields"])
        self.extension_events = tuple(ours["server_events"])
        self.tools: dict[str, str] = vendor["tools"]
        self.parts: dict[str, list[str]] = ours["parts"]
        self.items: dict[str, list[str]] = {
            tag: sorted({*vendor["input_items"].get(tag, ()), *vendor["output_items"].get(tag, ())})
            for tag in dict.fromkeys((*vendor["output_items"], *vendor["input_items"]))
        }
        self.tool_variants = {t: ours["tool_variants"].get(t, [name]) for t, name in self.tools.items()}
        self.names: dict[str, str] = ours["names"]
        self.optional: frozenset[str] = frozenset(ours["optional"])
        self.optional_in_items: tuple[str, ...] = tuple(ours["optional_in_items"])
        self.item_fields = {tag: _fields(f) for tag, f in ours["item_fields"].items()}
        self.untagged: frozenset[str] = frozenset(ours["untagged"])
        self.always_written: frozenset[str] = frozenset(ours["always_written"])
        self.unchecked: frozenset[str] = frozenset(ours["unchecked"])

    def merged(self, kind: str, variants: list[str]) -> Fields:
        """One view of several variants of a kind: required is what all require and nothing in `optional` relaxes."""
        extra = self.item_fields.get(kind, {})
        shapes = [{**self.types[name], **extra} for name in variants]
        merged: Fields = {}
        for name in dict.fromkeys(n for shape in shapes for n in shape):
            found = [shape[name] for shape in shapes if name in shape]
            required = len(found) == len(shapes) and all(f.required for f in found)
            specs = tuple(dict.fromkeys(m for f in found for m in members(f.spec)))
            spec = specs[0] if len(specs) == 1 else Union(specs)
            merged[name] = Field(spec, required and not self._relaxed(kind, name))
        return merged

    def _relaxed(self, kind: str, name: str) -> bool:
        return f"{kind}.{name}" in self.optional or (kind in self.items and name in self.optional_in_items)

    def tag_of(self, type_name: str) -> str | None:
        """The one `type` string of a named type, None if it has none or several."""
        field = self.types[type_name].get("type")
        choices = [m for m in members(field.spec) if isinstance(m, Choice)] if field else []
        return choices[0].values[0] if len(choices) == 1 and len(choices[0].values) == 1 else None


def load_schema(path: Path = SCHEMA_PATH) -> Schema:
    return Schema(json.loads(path.read_bytes()))


def _fields(fields: dict[str, str]) -> Fields:
    return {name: parse_field(text) for name, text in fields.items()}


def _events(
    vendor: dict[str, dict[str, str]], ours: dict[str, dict[str, str]], extra: dict[str, dict[str, str]]
) -> dict[str, Fields]:
    return {tag: _fields({**fields, **extra.get(tag, {})}) for tag, fields in {**vendor, **ours}.items()}
