"""Short ways to write the flat JSON Schemas of tools."""

from __future__ import annotations

from typing import Any

STRING: dict[str, Any] = {"type": "string"}
STRINGS: dict[str, Any] = {"type": "array", "items": STRING}


def string(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def integer(minimum: int, maximum: int | None = None, description: str = "") -> dict[str, Any]:
    """`maximum` None: no upper bound."""
    found: dict[str, Any] = {"type": "integer", "minimum": minimum}
    if maximum is not None:
        found["maximum"] = maximum
    if description:
        found["description"] = description
    return found


def parameters(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object schema that takes these properties and no other."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
