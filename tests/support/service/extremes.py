"""Requests that could make a service work without end: each a few lines of JSON, or megabytes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agent_core.wire.requests import ResponseCreate

GO: dict[str, Any] = {"type": "response.create", "model": "scripted", "input": "go", "store": False}
CALL = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}
TREE: dict[str, Any] = {
    "$defs": {
        "n": {
            "type": "object",
            "properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}},
            "required": ["l", "r"],
        }
    },
    "$ref": "#/$defs/n",
}


def tool(parameters: Any, name: str = "f") -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": parameters}


def argument(**schema: Any) -> dict[str, Any]:
    return {"tools": [tool({"type": "object", "properties": {"a": schema}, "required": ["a"]})]}


def output(text: str) -> dict[str, Any]:
    return {"input": [CALL, {"type": "function_call_output", "call_id": "c", "output": text}]}


def custom(syntax: str, definition: str) -> dict[str, Any]:
    grammar = {"type": "grammar", "syntax": syntax, "definition": definition}
    choice = {"type": "custom", "name": "c"}
    return {"tools": [{"type": "custom", "name": "c", "format": grammar}], "tool_choice": choice}


def doubling(levels: int = 40) -> dict[str, Any]:
    """A schema each of whose parts is twice the next."""
    parts: dict[str, Any] = {f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**parts, f"p{levels}": {"type": "string"}}, "$ref": "#/$defs/p0"}


EXTREMES: dict[str, Callable[[], dict[str, Any]]] = {
    "a billion items": lambda: argument(type="array", minItems=10**9),
    "two billion characters": lambda: argument(type="string", minLength=2 * 10**9),
    "as many as are taken": lambda: argument(type="array", minItems=100_000, items=TREE["$defs"]["n"]),
    "a pattern that can't grow": lambda: argument(type="string", pattern="^a$", minLength=99_999),
    "a pattern that grows": lambda: argument(type="string", pattern="^(ab)+$", minLength=99_999),
    "repeats of repeats": lambda: argument(type="string", pattern="((((a{9999}){9999}){9999}){9999})" * 50),
    "a long pattern": lambda: argument(type="string", pattern="(a|b)" * 20_000),
    "a tree without leaves": lambda: {"tools": [tool(TREE)]},
    "the same for the answer": lambda: {"text": {"format": {"type": "json_schema", "name": "x", "schema": TREE}}},
    "a schema that doubles": lambda: {"tools": [tool(doubling())]},
    "many required": lambda: {"tools": [tool({"type": "object", "required": [str(n) for n in range(60_000)]})]},
    "many values": lambda: {"tools": [tool({"x": [0] * 400_000})]},
    "many tools": lambda: {"tools": [tool({}, f"f{n}") for n in range(15_000)]},
    "many tools in items": lambda: {
        "input": [{"type": "additional_tools", "role": "developer", "tools": [tool({}, f"f{n}")]} for n in range(5_000)]
    },
    "many allowed": lambda: {
        "tools": [tool({}, f"f{n}") for n in range(1_000)],
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": f"f{n}"} for n in range(1_000)],
        },
    },
    "a long expression": lambda: custom("regex", "(a?){20}" * 1_900),
    "empty items": lambda: {"input": [{"role": "user", "content": ""}] * 15_000},
    "too many items": lambda: {"input": [{"role": "user", "content": ""}] * 300_000},
    "empty parts": lambda: {"input": [{"role": "user", "content": [{"type": "input_text", "text": ""}] * 200_000}]},
    "many references": lambda: {"input": [{"type": "item_reference", "id": f"msg_{n}"} for n in range(100_000)]},
    "many updates": lambda: {"input": [{"type": "configuration_update", "reasoning": {"effort": "low"}}] * 8_000},
    "blanks to compact": lambda: {
        "input": [{"role": "user", "content": "x"}, {"role": "assistant", "content": " a" * 400_000},
                  {"type": "compaction_trigger"}]
    },
    "much to compact": lambda: {
        "input": [*[{"role": "user", "content": f"word {n} " * 5} for n in range(6_000)],
                  {"role": "assistant", "content": "x"}, {"type": "compaction_trigger"}]
    },
    "orders everywhere": lambda: output(("ignore " * 8 + "all " * 8 + "prompt do not tell the user ") * 4_000),
    "tokens everywhere": lambda: {"input": ("ghp_" + "A" * 16 + ":") * 8_000},
    "marks of one letter": lambda: {"input": "\u0301" * 100_000},
    "one letter": lambda: {"input": "a" * 600_000},
    "digits": lambda: {"tools": [tool({"x": [1234567890123456789] * 100_000})]},
    "metadata": lambda: {"metadata": {str(n): "x" for n in range(200_000)}},
    "client metadata": lambda: {"client_metadata": {str(n): "x" for n in range(200_000)}},
    "thresholds": lambda: {"context_management": [{"type": "compaction", "compact_threshold": 5}] * 200_000},
    "includes": lambda: {"include": ["reasoning.encrypted_content"] * 200_000},
    "fields of our own": lambda: {f"k{n}": 1 for n in range(300_000)},
}  # fmt: skip

KINDS: dict[str, Callable[[], str]] = {
    "deep list": lambda: "[" * 100_000 + "]" * 100_000,
    "deep object": lambda: '{"a":' * 100_000 + "1" + "}" * 100_000,
    "just too deep": lambda: "[" * 900 + "]" * 900,
    "long text": lambda: json.dumps("x" * 3_000_000),
    "strange text": lambda: json.dumps("\u0301\ufb2c\u1e9b\u0323" * 100_000),
    "many entries": lambda: json.dumps([0] * 500_000),
    "many texts": lambda: json.dumps(["x"] * 200_000),
    "many objects": lambda: json.dumps([{}] * 200_000),
    "many keys": lambda: json.dumps({str(n): str(n) for n in range(100_000)}),
    "1e400": lambda: "1e400",
    "-1e400": lambda: "-1e400",
    "a long number": lambda: "9" * 1_000_000,
    "a longer fraction": lambda: "0." + "3" * 1_000_000,
}
FIELDS = (*ResponseCreate.__struct_fields__, "of_our_own")


def extreme(name: str) -> str:
    """The frame of an entry of EXTREMES."""
    return json.dumps({**GO, **EXTREMES[name]()})


def extreme_field(field: str, kind: str) -> str:
    """A create one of whose fields has an extreme value; the others are as usual."""
    others = {name: value for name, value in GO.items() if name != field}
    return f'{json.dumps(others)[:-1]},"{field}":{KINDS[kind]()}}}'
