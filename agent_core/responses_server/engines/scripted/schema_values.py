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


def example(schema: Mapping[str, Any]) -> Any:
    """The smallest natural value; `{}` for a schema that says nothing (tool arguments are objects)."""
    return _value(schema, schema, 0) if schema else {}


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return None
    schema = _merged(schema, root, depth)
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    for keyword in ("enum", "examples"):
        if schema.get(keyword):
            return schema[keyword][0]
    kind = _kind(schema)
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        return _array(schema, root, depth)
    if kind == "string":
        return _string(schema)
    if kind in ("integer", "number"):
        return _number(schema, whole=kind == "integer")
    return {"boolean": True, "null": None}.get(kind)


def _merged(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
    """The schema with its reference, its `allOf` and the first branch of its alternatives folded in."""
    merged = dict(schema)
    parts = []
    reference = merged.pop("$ref", None)
    if isinstance(reference, str):
        parts.append(_resolve(reference, root))
    parts += merged.pop("allOf", None) or []
    for keyword in ("anyOf", "oneOf"):
        branches = merged.pop(keyword, None)
        if branches:
            parts.append(branches[0])
    if not parts or depth > _MAX_DEPTH:
        return merged
    for part in parts:
        for key, value in _merged(part, root, depth + 1).items() if isinstance(part, Mapping) else ():
            if key == "properties" and isinstance(merged.get(key), dict):
                merged[key] = {**value, **merged[key]}
            elif key == "required":
                merged[key] = [*merged.get(key, []), *value]
            else:
                merged.setdefault(key, value)
    return merged


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


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {name: _value(properties.get(name, {}), root, depth + 1) for name in schema.get("required") or ()}


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Any]:
    first = [_value(part, root, depth + 1) for part in schema.get("prefixItems") or ()]
    missing = max(0, int(schema.get("minItems", 0)) - len(first))
    rest = schema.get("items", {})
    values = first + [_value(rest, root, depth + 1) for _ in range(missing)]
    if schema.get("uniqueItems") and isinstance(rest, Mapping):
        choices = rest.get("enum")
        if choices:
            return first + list(choices)[:missing]
        return first + [_distinct(value, at) for at, value in enumerate(values[len(first) :])]
    return values


def _distinct(value: Any, at: int) -> Any:
    if isinstance(value, bool) or at == 0:
        return value
    if isinstance(value, int | float):
        return value + at
    return f"{value}{at}" if isinstance(value, str) else value


def _string(schema: Mapping[str, Any]) -> str:
    if isinstance(schema.get("pattern"), str):
        return pattern_text(schema["pattern"], int(schema.get("minLength", 0)))
    text = _FORMATS.get(str(schema.get("format")), "example")
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    if len(text) < least:
        text += "x" * (least - len(text))
    return text if most is None else text[: int(most)]


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
