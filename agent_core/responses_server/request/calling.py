"""What the model may call in one response: `tool_choice`, `parallel_tool_calls` and `max_tool_calls` made one rule.

Settings that no model could honour with these tools are refused; hosted tools can never be demanded. Whoever samples
keeps an engine to the rule (`sampling.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.engine import Capabilities, EngineTool
from agent_core.responses_server.request.toolset import usable
from agent_core.wire.codec import plain, present
from agent_core.wire.requests import ResponseCreate, ToolChoice, read_tool_choice

_CALLABLE = ("function", "custom")


class Calling(msgspec.Struct, frozen=True, kw_only=True):
    """`choice`: `tool_choice` as sent, "auto" where it was not. `tools`: those that it leaves.

    `must`: one of them has to be called. `at_most`: calls in this response, None for no limit. `unusable`: how many
    offered tools the engine can't call.
    """

    choice: Any
    tools: tuple[EngineTool, ...]
    must: bool = False
    at_most: int | None = None
    unusable: int = 0

    @property
    def is_bound(self) -> bool:
        """Whether a call of anything but `tools` would break what the client asked for."""
        return self.choice not in ("auto", "required")


def read_calling(create: ResponseCreate, tools: Sequence[EngineTool]) -> Calling:
    """Raises WireError for a choice that can't be honoured with `tools`."""
    choice = read_tool_choice(create.tool_choice)
    left = _left_by(choice, tools)
    must = choice.mode == "required"
    if must and not left:
        param = "tool_choice.tools" if choice.allowed is not None else "tool_choice"
        raise WireError("A call is demanded, but there is no tool that can be called here.", param=param)
    limits = [create.max_tool_calls, 1 if create.parallel_tool_calls is False else None]
    return Calling(
        choice=plain(create.tool_choice) if present(create.tool_choice) else "auto",
        tools=left,
        must=must,
        at_most=min((limit for limit in limits if limit is not None), default=None),
    )


def for_engine(calling: Calling, model: str, capabilities: Capabilities) -> Calling:
    """The rule with the tools that the engine can call. Raises WireError if it can't do what is demanded."""
    tools = usable(calling.tools, capabilities)
    if calling.must and not tools:
        raise WireError(f"The model '{model}' can't call the tool that is demanded.", param="tool_choice")
    return msgspec.structs.replace(calling, tools=tools, unusable=len(calling.tools) - len(tools))


def _left_by(choice: ToolChoice, tools: Sequence[EngineTool]) -> tuple[EngineTool, ...]:
    if choice.mode == "none":
        return ()
    if choice.allowed is not None:
        named = [
            (entry.get("type"), entry.get("name"), f"tool_choice.tools[{index}]")
            for index, entry in enumerate(choice.allowed)
            if entry.get("type") in _CALLABLE
        ]
        by_name = _by_name(tools)
        wanted = {id(tool) for kind, name, path in named for tool in _named(kind, name, by_name, path)}
        return tuple(tool for tool in tools if id(tool) in wanted)
    if choice.type is not None:
        return _named(choice.type, choice.name, _by_name(tools), "tool_choice")
    return tuple(tools)


def _by_name(tools: Sequence[EngineTool]) -> Mapping[tuple[object, object], tuple[EngineTool, ...]]:
    found: dict[tuple[object, object], tuple[EngineTool, ...]] = {}
    for tool in tools:
        key = (tool.kind, tool.name)
        found[key] = (*found.get(key, ()), tool)
    return found


def _named(
    kind: object, name: object, tools: Mapping[tuple[object, object], tuple[EngineTool, ...]], path: str
) -> tuple[EngineTool, ...]:
    if kind not in _CALLABLE:
        raise WireError("Hosted tools are not served here; none can be demanded.", param=path)
    found = tools.get((kind, name), ()) if isinstance(name, str) else ()
    if not found:
        raise WireError(f"No {kind} tool with this name is among the tools.", param=f"{path}.name")
    return found
