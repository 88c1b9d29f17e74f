"""Tool definitions: one struct per kind, read strictly and once per tool set."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.bounds import MAX_GRAMMAR, MAX_TOOL_BYTES, MAX_TOOLS, require_few, require_modest
from agent_core.wire.codec import UNREADABLE, decoder, misfit, read, require_sound
from agent_core.wire.generated.tools import *  # noqa: F403
from agent_core.wire.generated.tools import TOOLS, CustomTool, FunctionTool, NamespaceTool, ToolDefinition
from agent_core.wire.generated.types import FormatText as FormatText
from agent_core.wire.generated.types import GrammarFormat as GrammarFormat
from agent_core.wire.head import read_head

GRAMMARS = ("lark", "regex")


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    return decoder(ToolDefinition)


def tool_type(tool: ToolDefinition) -> str:
    """The `type` on the wire."""
    return str(tool.__struct_config__.tag)


def read_tools(raw: Raw | bytes, path: str = "tools") -> list[ToolDefinition]:
    """A `tools` array; null is an empty one. Raises WireError with the path of the misfit, `tools[2].name`."""
    if len(raw) > MAX_TOOL_BYTES:
        raise WireError(f"{path} is longer than {MAX_TOOL_BYTES} bytes.", param=path)
    found: list[Raw] | None = read(raw, list[Raw] | None, path)
    require_few(path, len(found or ()), MAX_TOOLS, "tools")
    return [_read_tool(one, f"{path}[{index}]") for index, one in enumerate(found or ())]


def _read_tool(raw: Raw, path: str) -> ToolDefinition:
    tool = _decode(raw, path)
    if isinstance(tool, FunctionTool | CustomTool | NamespaceTool):
        _check_named(tool, path)
    if isinstance(tool, NamespaceTool):
        require_few(f"{path}.tools", len(tool.tools), MAX_TOOLS, "tools")
        for index, inner in enumerate(tool.tools):
            _check_named(inner, f"{path}.tools[{index}]")
    require_sound(raw, path)
    _check_work(tool, path)
    return tool


def _check_work(tool: ToolDefinition, path: str) -> None:
    """What a model, or who fills in for one, would have to make of it."""
    if isinstance(tool, FunctionTool) and tool.parameters:
        require_modest(tool.parameters, f"{path}.parameters")
    elif isinstance(tool, CustomTool) and isinstance(tool.format, GrammarFormat):
        if len(tool.format.definition) > MAX_GRAMMAR:
            where = f"{path}.format.definition"
            raise WireError(f"{where} is longer than {MAX_GRAMMAR} characters.", param=where)
    elif isinstance(tool, NamespaceTool):
        for index, inner in enumerate(tool.tools):
            _check_work(inner, f"{path}.tools[{index}]")


def _decode(raw: Raw, path: str) -> ToolDefinition:
    try:
        tool: ToolDefinition = _decoder().decode(raw)
    except UNREADABLE as exc:
        head = read_head(raw)
        if not head.is_object:
            raise misfit(exc, path) from exc
        kind = TOOLS.get(head.type)
        if kind is None:
            raise WireError(f"{path}.type: {head.type_fault('tool type')}.", param=f"{path}.type") from exc
        return head.read_as(kind, path)
    return tool


def _check_named(tool: FunctionTool | CustomTool | NamespaceTool, path: str) -> None:
    if not tool.name:
        raise WireError(f"{path}.name is empty.", param=f"{path}.name")
    if isinstance(tool, CustomTool) and isinstance(tool.format, GrammarFormat) and tool.format.syntax not in GRAMMARS:
        raise WireError(f"{path}.format.syntax: expected lark or regex.", param=f"{path}.format.syntax")
