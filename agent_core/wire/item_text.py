"""Questions about an item that do not need its kind: which call it belongs to, what a person would read in it."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import encode, plain
from agent_core.wire.generated.items import (
    ApplyPatchCall,
    ApplyPatchCallOutput,
    ComputerCall,
    ComputerCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Item,
    LocalShellCall,
    LocalShellCallOutput,
    Message,
    Program,
    ProgramOutput,
    Reasoning,
    ShellCall,
    ShellCallOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from agent_core.wire.parts import part_text, read_parts
from agent_core.wire.unknown import UnknownItem

_OUTPUTS = (
    FunctionCallOutput,
    CustomToolCallOutput,
    ShellCallOutput,
    ApplyPatchCallOutput,
    ComputerCallOutput,
    ToolSearchOutput,
    ProgramOutput,
)
_CALLS = (FunctionCall, CustomToolCall, ShellCall, ApplyPatchCall, ComputerCall, ToolSearchCall, Program)
_NOT_TEXT = frozenset(
    {"id", "type", "status", "call_id", "role", "encrypted_content", "file_data", "image_url", "result"}
)


def output_call_id(item: Item | UnknownItem) -> str | None:
    """The call that an output item answers, for every `*_output` kind; None for other items and where none is named."""
    if isinstance(item, _OUTPUTS):
        return item.call_id
    if isinstance(item, LocalShellCallOutput):
        return item.call_id or item.id
    return None


def call_id_of(item: Item | UnknownItem) -> str | None:
    """The `call_id` of an item that asks for an output; None for other items."""
    if isinstance(item, _CALLS):
        return item.call_id
    if isinstance(item, LocalShellCall):
        return item.call_id or item.id
    return None


def text_of(item: Item | UnknownItem) -> str:
    """All text of an item that a person (or a screen) would read: message text, arguments, outputs."""
    if isinstance(item, Message):
        return _content(item.content)
    if isinstance(item, FunctionCallOutput | CustomToolCallOutput):
        return _content(item.output)
    if isinstance(item, FunctionCall):
        return item.arguments
    if isinstance(item, CustomToolCall):
        return item.input
    if isinstance(item, Reasoning):
        return _content([*item.summary, *(item.content or ())])
    raw = item.raw if isinstance(item, UnknownItem) else Raw(encode(item))
    try:
        return "\n".join(_strings(plain(raw)))
    except WireError:
        return ""


def _content(content: str | list[Raw]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for part in read_parts(content) if (text := part_text(part)))


def _strings(value: Any, key: str = "") -> list[str]:
    if isinstance(value, str):
        return [] if key in _NOT_TEXT else [value]
    if isinstance(value, dict):
        return [text for k, v in value.items() for text in _strings(v, k)]
    if isinstance(value, list):
        return [text for v in value for text in _strings(v, key)]
    return []
