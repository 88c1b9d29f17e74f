"""The tools of a request: what engines may call, what responses echo, what nobody here can use.

Clients re-send unchanged tools with every call; a set is recognised by the digest of its bytes and not parsed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.engines.base import EngineTool
from agent_core.wire import requests as wire_requests
from agent_core.wire.codec import encode, plain, present, to_raw
from agent_core.wire.tools import CustomTool, FunctionTool, NamespaceTool, ToolDefinition, read_tools

_CALLABLE = ("function", "custom")


class ToolSet(msgspec.Struct, frozen=True, kw_only=True):
    """`digest`: of the client's bytes. `canonical`: the definitions in our own spelling, b"" for none; for rendering.

    `text_digest`: of those. `echo`: the function tools, as the response shows them. `ignored` counts definitions that
    no engine here can use (hosted tools); they are accepted and never offered.
    """

    digest: bytes
    canonical: bytes
    text_digest: bytes
    tools: tuple[EngineTool, ...]
    echo: msgspec.Raw
    ignored: int


NO_TOOLS = ToolSet(digest=b"", canonical=b"", text_digest=b"", tools=(), echo=msgspec.Raw(b"[]"), ignored=0)


def tools_digest(raw: bytes) -> bytes:
    return blake2b(raw, digest_size=16).digest() if raw else b""


def read_tool_set(raw: bytes, known: ToolSet | None) -> ToolSet:
    """The set for these bytes; `known` is taken as it is where its digest is the same. Raises WireError."""
    digest = tools_digest(raw)
    if known is not None and known.digest == digest:
        return known
    if not digest:
        return NO_TOOLS
    definitions = read_tools(msgspec.Raw(raw))
    tools = tuple(tool for definition in definitions for tool in _offered(definition, None))
    usable = sum(isinstance(definition, FunctionTool | CustomTool | NamespaceTool) for definition in definitions)
    echo = [_echo(definition) for definition in definitions if isinstance(definition, FunctionTool)]
    canonical = encode(definitions)
    return ToolSet(
        digest=digest,
        canonical=canonical,
        text_digest=tools_digest(canonical),
        tools=tools,
        echo=to_raw(echo),
        ignored=len(definitions) - usable,
    )


def _offered(definition: ToolDefinition, namespace: str | None) -> Iterator[EngineTool]:
    if isinstance(definition, FunctionTool):
        yield EngineTool(
            name=definition.name,
            namespace=namespace,
            description=definition.description or "",
            parameters=definition.parameters or {},
        )
    elif isinstance(definition, CustomTool):
        yield EngineTool(
            name=definition.name,
            kind="custom",
            namespace=namespace,
            description=definition.description or "",
        )
    elif isinstance(definition, NamespaceTool):
        for tool in definition.tools:
            yield from _offered(tool, definition.name)


def _echo(tool: FunctionTool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": True if tool.strict is None else tool.strict,
    }


def read_tool_choice(raw: msgspec.Raw | msgspec.UnsetType, tools: ToolSet) -> Any:
    """The decoded `tool_choice` ("auto" where absent). Raises WireError for one that can't be honoured with `tools`."""
    choice = wire_requests.read_tool_choice(raw)
    if choice.allowed is not None:
        usable = [entry for entry in choice.allowed if entry.get("type") in _CALLABLE]
        for index, entry in enumerate(choice.allowed):
            if entry in usable:
                _check_named(entry.get("type"), entry.get("name"), tools, f"tool_choice.tools[{index}]")
        if choice.mode == "required" and not usable:
            raise WireError("None of the allowed tools can be called here.", param="tool_choice.tools")
    elif choice.type is not None:
        _check_named(choice.type, choice.name, tools, "tool_choice")
    elif choice.mode == "required" and not tools.tools:
        raise WireError("tool_choice 'required' needs a tool that can be called here.", param="tool_choice")
    return plain(raw) if present(raw) else "auto"


def _check_named(kind: object, name: object, tools: ToolSet, path: str) -> None:
    if kind not in _CALLABLE:
        raise WireError("Hosted tools are not served here; none can be demanded.", param=path)
    if not any(tool.kind == kind and tool.name == name for tool in tools.tools):
        raise WireError(f"No {kind} tool with this name is among the tools.", param=f"{path}.name")
