"""A value that a JSON Schema accepts: how the scripted engine fills a tool's arguments.

Covers what tool schemas use: types, enum, const, default, examples, bounds, lengths, required properties, items, the
combinators, local references and formats; patterns through `pattern_text`. Keywords that only exclude (`not`, `if`) are
not read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from agent_core.responses_server.engines.scripted.pattern_text import pattern_text

_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_MAX_DEPTH = 32
STEPS, CHARS = 20_000, 200_000
"""What one value may take: schemas looked at and characters made. More is refused, not made."""


class TooMuch(Exception):
    """A value would take more than its bounds."""


class Bounds:
    """What is left for one value."""

    def __init__(self, steps: int = STEPS, chars: int = CHARS) -> None:
        self.steps, self.chars = steps, chars

    def step(self, count: int = 1) -> None:
        """Raises TooMuch once no step is left."""
        self.steps -= count
        if self.steps < 0:
            raise TooMuch

    def write(self, chars: int) -> None:
        """Raises TooMuch if so many characters are not left."""
        self.chars -= chars
        if self.chars < 0:
            raise TooMuch


def example(schema: Mapping[str, Any], bounds: Bounds | None = None) -> Any:
    """The smallest natural value; `{}` for a schema that says nothing (tool arguments are objects).

    Raises TooMuch for a schema whose smallest value is beyond `bounds`, or has no end.
    """
    return _Example(schema, bounds or Bounds()).value(schema, 0) if schema else {}


class _Example:
    """One value being made. `root`: what local references start from."""

    def __init__(self, root: Mapping[str, Any], bounds: Bounds) -> None:
        self._root, self._bounds = root, bounds

    def value(self, schema: Any, depth: int) -> Any:
        self._bounds.step()
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return None
        schema = self._merged(schema, depth)
        for keyword in ("const", "default"):
            if keyword in schema:
                return schema[keyword]
        for keyword in ("enum", "examples"):
            if schema.get(keyword):
                return schema[keyword][0]
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return self._string(schema)
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        return {"boolean": True, "null": None}.get(kind)

    def _merged(self, schema: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
        """The schema with its reference, its `allOf` and the first branch of its alternatives folded in."""
        self._bounds.step(1 + len(schema) // 8)
        merged = dict(schema)
        parts = []
        reference = merged.pop("$ref", None)
        if isinstance(reference, str):
            parts.append(_resolve(reference, self._root))
        parts += merged.pop("allOf", None) or []
        for keyword in ("anyOf", "oneOf"):
            branches = merged.pop(keyword, None)
            if branches:
                parts.append(branches[0])
        if not parts or depth > _MAX_DEPTH:
            return merged
        for part in parts:
            for key, value in self._merged(part, depth + 1).items() if isinstance(part, Mapping) else ():
                if key == "properties" and isinstance(merged.get(key), dict):
                    self._bounds.step((len(value) + len(merged[key])) // 8)
                    merged[key] = {**value, **merged[key]}
                elif key == "required":
                    merged[key] = list(dict.fromkeys([*merged.get(key, []), *value]))
                    self._bounds.step(len(merged[key]) // 8)
                else:
                    merged.setdefault(key, value)
        return merged

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        return {name: self.value(properties.get(name, {}), depth + 1) for name in schema.get("required") or ()}

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = [self.value(part, depth + 1) for part in schema.get("prefixItems") or ()]
        missing = max(0, int(schema.get("minItems", 0)) - len(first))
        self._bounds.step(missing)
        rest = schema.get("items", {})
        choices = rest.get("enum") if isinstance(rest, Mapping) else None
        if schema.get("uniqueItems") and choices:
            return first + list(choices)[:missing]
        values = [self.value(rest, depth + 1) for _ in range(missing)]
        if schema.get("uniqueItems") and isinstance(rest, Mapping):
            return first + [_distinct(value, at) for at, value in enumerate(values)]
        return first + values

    def _string(self, schema: Mapping[str, Any]) -> str:
        least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
        self._bounds.write(max(least, 8))
        if isinstance(schema.get("pattern"), str):
            text = pattern_text(schema["pattern"], least)
            self._bounds.write(len(text))
            return text
        text = _FORMATS.get(str(schema.get("format")), "example")
        if len(text) < least:
            text += "x" * (least - len(text))
        return text if most is None else text[: int(most)]


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """A reference within the schema (`#/$defs/name`); anything else accepts everything."""
    target: Any = root
    for step in reference.removeprefix("#").split("/"):
        if step:
            name = step.replace("~1", "/").replace("~0", "~")
            target = target.get(name, {}) if isinstance(target, Mapping) else {}
    return target


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "minItems" in schema:
        return "array"
    if any(word in schema for word in ("minimum", "maximum", "exclusiveMinimum", "multipleOf")):
        return "number"
    return "string"


def _distinct(value: Any, at: int) -> Any:
    if isinstance(value, bool) or at == 0:
        return value
    if isinstance(value, int | float):
        return value + at
    return f"{value}{at}" if isinstance(value, str) else value


def _number(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    step = schema.get("multipleOf") or (1 if whole else 0)
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    gap = step or 0.5
    if above is not None and not isinstance(above, bool):
        low = max(above + gap, low) if low is not None else above + gap
    if below is not None and not isinstance(below, bool):
        high = min(below - gap, high) if high is not None else below - gap
    value = 1 if low is None else low
    if step:
        value = math.ceil(value / step) * step
    if high is not None and value > high:
        value = math.floor(high / step) * step if step else high
        if low is not None and value < low:
            value = (low + high) / 2
    return int(value) if whole or value == int(value) else value
