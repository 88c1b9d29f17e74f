"""What a server lists, made into tools of ours. Pure.

Whatever a server says is bounded and cleaned: a name that is no name, a schema that no service takes, a description as
long as a book. What does not fit is left out, with a reason for the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from agent_core.tools.mcp.content import line
from agent_core.tools.mcp.names import tool_name
from agent_core.tools.port import Kind, ToolSpec

MAX_TOOLS = 64
"""Tools of one server that are offered."""

MAX_DESCRIPTION = 1_000
MAX_SCHEMA_BYTES = 8_192
MAX_SCHEMA_DEPTH = 24
MAX_CATALOGUE_BYTES = 65_536
"""All definitions of one server together: they are sent with the first call of a session, and count as input."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server lists it. The hints are the server's own word, None where it gives none."""

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it is offered here; `name` is the server's own for it."""

    name: str
    spec: ToolSpec


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """`left_out` says in a line each what is not offered and why; `listed` counts what the server has."""

    offered: tuple[Offered, ...]
    left_out: tuple[str, ...] = ()
    listed: int = 0


def catalogue(server: str, listed: Sequence[Listed], only: Sequence[str] | None = None) -> Catalogue:
    """The tools of `server`; `only`: names that the user wants, None: all."""
    offered: dict[str, Offered] = {}
    left_out: list[str] = []
    size = 0
    for tool in _wanted(listed, only):
        if len(offered) >= MAX_TOOLS:
            left_out.append(f"it lists {len(listed)} tools; the first {MAX_TOOLS} are offered (`tools` chooses others)")
            break
        shown = repr(line(tool.name, 60))
        name = tool_name(server, tool.name)
        if name in offered:
            left_out.append(f"{shown} is listed twice")
            continue
        problem, schema = usable_schema(tool.schema)
        if problem:
            left_out.append(f"{shown}: {problem}")
            continue
        spec = ToolSpec(
            name=name,
            description=line(tool.description, MAX_DESCRIPTION) or f"A tool of the server {server}.",
            parameters=schema,
            kind=_kind(tool),
            foreign=True,
        )
        size += len(msgspec.json.encode(spec))
        if size > MAX_CATALOGUE_BYTES:
            left_out.append(f"the definitions of its tools are above {MAX_CATALOGUE_BYTES:,} bytes from {shown} on")
            break
        offered[name] = Offered(name=tool.name, spec=spec)
    if only is not None:
        missing = [name for name in only if not any(tool.name == name for tool in listed)]
        left_out += [f"it has no tool {line(name, 60)!r}" for name in missing]
    return Catalogue(offered=tuple(offered.values()), left_out=tuple(left_out), listed=len(listed))


def usable_schema(schema: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(what is wrong, {}) or ("", the schema as a service takes it: an object at the top, with properties)."""
    if schema.get("type", "object") != "object":
        return "its input is no object", {}
    if not isinstance(schema.get("properties", {}), dict):
        return "its properties are no object", {}
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "`required` is no list of names", {}
    if _depth(schema, MAX_SCHEMA_DEPTH) > MAX_SCHEMA_DEPTH:
        return f"its schema is nested more than {MAX_SCHEMA_DEPTH} deep", {}
    found = {"type": "object", "properties": {}} | {key: value for key, value in schema.items() if key != "$schema"}
    try:
        size = len(msgspec.json.encode(found))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return "its schema is no JSON", {}
    return (f"its schema is {size:,} bytes", {}) if size > MAX_SCHEMA_BYTES else ("", found)


def _wanted(listed: Sequence[Listed], only: Sequence[str] | None) -> Iterable[Listed]:
    return listed if only is None else (tool for tool in listed if tool.name in only)


def _kind(tool: Listed) -> Kind:
    """Free to run only what its server declares both read-only and closed to the outside: reading elsewhere can carry
    what is said out of the house."""
    reads = tool.read_only is True and tool.open_world is False and not tool.destructive
    return "mcp_read" if reads else "mcp"


def _depth(value: Any, limit: int) -> int:
    """How deep a JSON value is nested; looks no deeper than one below `limit`."""
    waiting, depth = [value], 0
    while waiting and depth <= limit:
        depth += 1
        inner: list[Any] = []
        for each in waiting:
            children = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
            inner += [child for child in children if isinstance(child, dict | list)]
        waiting = inner
    return depth
