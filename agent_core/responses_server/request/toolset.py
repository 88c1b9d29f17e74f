"""The tools of a request: what engines may call, what responses echo, what nobody here can use.

Clients re-send unchanged tools with every call; a set is recognised by the digest of its bytes and not parsed again,
whichever connection it comes on.
Tools may also come in the input (`additional_tools`, and what a client's tool search found): they join the set of every
later call of the conversation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.engine import Capabilities, EngineTool, Grammar
from agent_core.responses_server.slices import Slices
from agent_core.wire.bounds import require_few
from agent_core.wire.codec import encode, to_raw
from agent_core.wire.items import AdditionalTools, AnyItem, ToolSearchOutput
from agent_core.wire.tools import CustomTool, FunctionTool, GrammarFormat, NamespaceTool, ToolDefinition, read_tools

SYNTAXES = ("lark", "regex")
TOOLS_PER_SLICE, LOOKS_PER_SLICE = 16, 2_048
"""Definitions that are read, and items that are looked at, before others get their turn."""
MAX_BROUGHT = 4_096
"""Different tools that the items of a conversation may bring along."""
SETS, SETS_BYTES = 256, 4 * 1024 * 1024
"""Sets that are kept, and the bytes they may have come as, together. The least lately used go first."""


class ToolSet(msgspec.Struct, frozen=True, kw_only=True):
    """`digest`: of the client's bytes. `canonical`: the definitions in our own spelling, b"" for none; for rendering.

    `text_digest`: of those. `echo`: the function tools, as the response shows them (the Open Responses spec knows no
    others). `ignored` counts definitions that no engine here can use (hosted tools); they are accepted and never
    offered.
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


def read_tool_set(raw: bytes) -> ToolSet:
    """The set for these bytes. Raises WireError."""
    definitions = read_tools(msgspec.Raw(raw))
    tools, ignored = _sorted_out(definitions, "tools")
    echo = [_echo(definition) for definition in definitions if isinstance(definition, FunctionTool)]
    canonical = encode(definitions)
    return ToolSet(
        digest=tools_digest(raw),
        canonical=canonical,
        text_digest=tools_digest(canonical),
        tools=tools,
        echo=to_raw(echo),
        ignored=ignored,
    )


class ToolSets:
    """Sets by the digest of their bytes, those that were used lately. One for the whole process.

    `parsed` counts the definitions that were really read. `keep` False reads them anew in each call (to measure that).
    """

    def __init__(self, *, keep: bool = True) -> None:
        self._keep = keep
        self._kept: OrderedDict[bytes, tuple[ToolSet, int]] = OrderedDict()
        self.bytes = self.parsed = 0

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, raw: bytes) -> ToolSet:
        """The set for these bytes, b"" for none. Raises WireError."""
        if not raw:
            return NO_TOOLS
        if not self._keep:
            self.parsed += 1
            return read_tool_set(raw)
        digest = tools_digest(raw)
        known = self._kept.get(digest)
        if known is not None:
            self._kept.move_to_end(digest)
            return known[0]
        self.parsed += 1
        made = read_tool_set(raw)
        self._kept[digest] = (made, len(raw))
        self.bytes += len(raw)
        while self.bytes > SETS_BYTES or len(self._kept) > SETS:
            self.bytes -= self._kept.popitem(last=False)[1][1]
        return made


def tools_in(items: Iterable[AnyItem], path: str = "input") -> Slices[tuple[EngineTool, ...]]:
    """Tools that items bring along. Raises WireError for definitions that can't be, and for too many."""
    found: dict[tuple[str, str | None, str], EngineTool] = {}
    read = 0
    for index, item in enumerate(items):
        if isinstance(item, AdditionalTools | ToolSearchOutput):
            place = f"{path}[{index}].tools"
            for tool in _sorted_out(read_tools(to_raw(item.tools), place), place)[0]:
                found.pop((tool.kind, tool.namespace, tool.name), None)
                found[tool.kind, tool.namespace, tool.name] = tool
            require_few(place, len(found), MAX_BROUGHT, "different tools with those before")
            read += len(item.tools)
            if read > TOOLS_PER_SLICE:
                read = 0
                yield
        elif index % LOOKS_PER_SLICE == LOOKS_PER_SLICE - 1:
            yield
    return tuple(found.values())


def joined(first: Sequence[EngineTool], second: Sequence[EngineTool]) -> tuple[EngineTool, ...]:
    """Both; of two tools with the same kind, namespace and name the later one counts."""
    if not second:
        return tuple(first)
    found = {(tool.kind, tool.namespace, tool.name): tool for tool in (*first, *second)}
    return tuple(found.values())


def usable(tools: Sequence[EngineTool], capabilities: Capabilities) -> tuple[EngineTool, ...]:
    """Those that an engine can call."""
    if not capabilities.tools:
        return ()
    if capabilities.custom_tools:
        return tuple(tools)
    return tuple(tool for tool in tools if tool.kind == "function")


def _sorted_out(definitions: Sequence[ToolDefinition], path: str) -> tuple[tuple[EngineTool, ...], int]:
    """The callable tools among `definitions`, and how many definitions are of other kinds."""
    tools = tuple(tool for index, each in enumerate(definitions) for tool in _offered(each, None, f"{path}[{index}]"))
    callable_ = sum(isinstance(each, FunctionTool | CustomTool | NamespaceTool) for each in definitions)
    return tools, len(definitions) - callable_


def _offered(definition: ToolDefinition, namespace: str | None, path: str) -> Iterator[EngineTool]:
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
            format=_grammar(definition, path),
        )
    elif isinstance(definition, NamespaceTool):
        for index, tool in enumerate(definition.tools):
            yield from _offered(tool, definition.name, f"{path}.tools[{index}]")


def _grammar(tool: CustomTool, path: str) -> Grammar | None:
    if not isinstance(tool.format, GrammarFormat):
        return None
    for syntax in ("lark", "regex"):
        if tool.format.syntax == syntax:
            return Grammar(syntax=syntax, definition=tool.format.definition)
    raise WireError(f"Invalid value: expected one of {', '.join(SYNTAXES)}.", param=f"{path}.format.syntax")


def _echo(tool: FunctionTool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": True if tool.strict is None else tool.strict,
    }
