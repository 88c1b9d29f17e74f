"""Strict reading of what is new in a request: settings, tools and input items. Everything older was read before.

Raises WireError with the path of the field. A tool output must answer a call of the chain or of the same input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.request.toolset import ToolSet, read_tool_choice, read_tool_set
from agent_core.responses_server.state.context import Context
from agent_core.responses_server.state.remembered import Remembered
from agent_core.wire.codec import plain, present
from agent_core.wire.items import (
    AnyItem,
    CompactionTrigger,
    ItemReference,
    call_id_of,
    item_type,
    output_call_id,
    read_item,
    read_item_strict,
)
from agent_core.wire.requests import ResponseCreate, read_client_frame, read_create_body, split_input
from agent_core.wire.tools import read_tools

NO_INPUT = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided."


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A request that may run. `items` are the new input items, `raws` the same as they came."""

    items: Sequence[AnyItem]
    raws: Sequence[msgspec.Raw]
    tools: ToolSet
    tool_choice: Any
    generate: bool
    store: bool
    text_format: dict[str, Any] | None
    reasoning: dict[str, Any] | None


class Validator:
    """`validated_items` counts items that were read strictly. `known_tools` False parses tools anew in each call."""

    def __init__(self, *, known_tools: bool = True) -> None:
        self._known_tools = known_tools
        self.validated_items = 0

    def check(self, create: ResponseCreate, parent: Remembered | None) -> Checked:
        """Read the new parts of `create` against the context it continues. Raises WireError."""
        _check_settings(create)
        known = parent.tools if parent is not None and self._known_tools else None
        tools = read_tool_set(bytes(create.tools) if present(create.tools) else b"", known)
        raws = _new_raws(create)
        items = [read_item_strict(raw, f"input[{index}]") for index, raw in enumerate(raws)]
        self.validated_items += len(items)
        _check_kinds(items)
        _check_outputs(items, parent.context if parent is not None else None)
        prewarm = _decoded(create.prompt_cache_options) or {}
        return Checked(
            items=items,
            raws=raws,
            tools=tools,
            tool_choice=read_tool_choice(create.tool_choice, tools),
            generate=create.generate is not False and prewarm.get("prewarm") is not True,
            store=create.store is not False,
            text_format=(_decoded(create.text) or {}).get("format"),
            reasoning=_decoded(create.reasoning),
        )


def _check_settings(create: ResponseCreate) -> None:
    if create.background:
        raise WireError("Background responses are not served here.", param="background")
    for name in ("conversation", "prompt"):
        if _decoded(getattr(create, name)) is not None:
            raise WireError(f"'{name}' is not served here; send 'input'.", param=name)
    if not present(create.input) and create.previous_response_id is None:
        raise WireError(NO_INPUT, param="input")
    for name, low, high in (("temperature", 0.0, 2.0), ("top_p", 0.0, 1.0), ("max_output_tokens", 1, None)):
        value = getattr(create, name)
        if value is not None and (value < low or (high is not None and value > high)):
            wanted = f"at least {low}" if high is None else f"from {low} to {high}"
            raise WireError(f"Invalid value: expected a number {wanted}.", param=name)


def _new_raws(create: ResponseCreate) -> list[msgspec.Raw]:
    """Copies, so that an item that is kept does not keep its whole frame."""
    return [raw.copy() for raw in split_input(create.input)] if present(create.input) else []


def _check_kinds(items: Sequence[AnyItem]) -> None:
    for index, item in enumerate(items):
        if isinstance(item, ItemReference | CompactionTrigger):
            raise WireError(f"Items of type '{item_type(item)}' are not served here.", param=f"input[{index}].type")


def _check_outputs(items: Sequence[AnyItem], context: Context | None) -> None:
    seen: set[str] = set()
    for item in items:
        call_id = call_id_of(item)
        if call_id is not None:
            seen.add(call_id)
        answered = output_call_id(item)
        if answered is None or answered in seen or (context is not None and context.has_call(answered)):
            continue
        kind = item_type(item).replace("_", " ")
        raise WireError(f"No tool call found for {kind} with call_id {answered[:80]}.", param="input")


def _decoded(raw: msgspec.Raw | msgspec.UnsetType) -> Any:
    """The decoded value, None where it is absent or null. The frame's reader checked its shape."""
    return plain(raw) if present(raw) else None


def build_decoders() -> None:
    """Build the readers' tables now (some ms of CPU each), so that no request pays for them."""
    read_client_frame('{"type":"response.create","tool_choice":"auto","text":{},"reasoning":{}}')
    read_create_body("{}")
    message = b'{"role":"user","content":[{"type":"input_text","text":""}]}'
    read_item(message)
    read_item_strict(message, "input[0]")
    read_tools(b'[{"type":"function","name":"none","parameters":{}}]')
