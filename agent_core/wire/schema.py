"""Development tool: the schema file as values, and the questions that generator and tests ask of it.

`schema.json` has two parts. `vendor` is what the vendor's SDK states, written by `generate --from-sdk` and never by
hand. `ours` is what we add, name or relax:

    types, server_events, client_events   kinds that the vendor does not list
    type_fields, client_event_fields, item_fields   fields that real peers send beside the vendor's
    parts, tool_variants                  which vendor types are views of the same content part or tool
    names                                 struct names, where the vendor's class name is no good one
    optional, optional_in_items           required fields that real peers leave out
    always_written                        fields that may be missing when read but are always written
    untagged                              structs whose `type` is an ordinary field
    unchecked                             fields that the strict reader lets through, whatever they hold
    event_structs, undecoded              event fields that are decoded; structs whose inner objects are not

Types are written as `str | int | float | bool | null | object | array<T> | map<str,T> | "a"|"b" | ClassName`, joined by
` | `. `object` is any JSON value; a trailing `?` marks a field that may be absent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
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
    if "".join(tokens) != text.replace(" ", ""):
        raise ValueError(f"not a type: {text!r}")
    spec, rest = _union(tokens)
    if rest:
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
            return (members[0] if len(members) == 1 else Union(tuple(members))), tokens
        tokens = tokens[1:]


def _single(tokens: list[str]) -> tuple[Spec, list[str]]:
    if not tokens:
        raise ValueError("the type ends too early")
    head, rest = tokens[0], tokens[1:]
    if head == "array":
        item, rest = _union(_expect(rest, "<"))
        return Array(item), _expect(rest, ">")
    if head == "map":
        value, rest = _union(_expect(rest, "<", "str", ","))
        return Map(value), _expect(rest, ">")
    if head.startswith('"'):
        return Choice((head[1:-1],)), rest
    if head in "<>,|":
        raise ValueError(f"a type can't start with {head}")
    return (Scalar(head) if head in SCALARS else Ref(head)), rest


def _expect(tokens: list[str], *wanted: str) -> list[str]:
    if tuple(tokens[: len(wanted)]) != wanted:
        raise ValueError(f"expected {' '.join(wanted)}")
    return tokens[len(wanted) :]


def members(spec: Spec) -> tuple[Spec, ...]:
    """The alternatives of a type; a type that is no union is its own only one."""
    return spec.members if isinstance(spec, Union) else (spec,)


def refs(spec: Spec) -> Iterator[Ref]:
    """All named types in a type, those inside arrays and maps too."""
    for member in members(spec):
        if isinstance(member, Ref):
            yield member
        elif isinstance(member, Array):
            yield from refs(member.item)
        elif isinstance(member, Map):
            yield from refs(member.value)


class Schema:
    """Parsed `schema.json`. All maps are in file order, which is the order of the generated code."""

    def __init__(self, data: dict[str, Any]) -> None:
        vendor, ours = data["vendor"], data["ours"]
        types = {**vendor["types"], **ours["types"]}
        self.types = {name: _fields({**f, **ours["type_fields"].get(name, {})}) for name, f in types.items()}
        self.server_events = _events(vendor["server_events"], ours["server_events"], {})
        self.client_events = _events(vendor["client_events"], ours["client_events"], ours["client_event_fields"])
        self.tools: dict[str, list[str]] = {
            tag: ours["tool_variants"].get(tag, [name]) for tag, name in vendor["tools"].items()
        }
        self.parts: dict[str, list[str]] = ours["parts"]
        self.items: dict[str, list[str]] = {
            tag: sorted({*vendor["input_items"].get(tag, ()), *vendor["output_items"].get(tag, ())})
            for tag in dict.fromkeys((*vendor["output_items"], *vendor["input_items"]))
        }
        self.item_fields = {tag: _fields(f) for tag, f in ours["item_fields"].items()}
        self.names: dict[str, str] = ours["names"]
        self.optional_in_items: tuple[str, ...] = tuple(ours["optional_in_items"])
        self.optional = frozenset[str](ours["optional"])
        self.always_written = frozenset[str](ours["always_written"])
        self.untagged = frozenset[str](ours["untagged"])
        self.unchecked = frozenset[str](ours["unchecked"])
        self.event_structs = frozenset[str](ours["event_structs"])
        self.undecoded = frozenset[str](ours["undecoded"])

    def merged(self, kind: str, variants: list[str]) -> Fields:
        """One view of several variants of a kind: required is what all require and nothing relaxes."""
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
