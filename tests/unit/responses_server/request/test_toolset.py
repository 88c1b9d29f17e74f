"""Tools of a request: what is offered, echoed and ignored; digests; tool_choice."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.errors import WireError
from agent_core.responses_server.request.toolset import NO_TOOLS, read_tool_choice, read_tool_set

READ = {"type": "function", "name": "read", "description": "Reads.", "parameters": {"type": "object"}}
PATCH = {"type": "custom", "name": "patch", "format": {"type": "text"}}
AGENTS = {
    "type": "namespace",
    "name": "agents",
    "description": "",
    "tools": [{"type": "function", "name": "spawn", "parameters": {}}],
}
SEARCH = {"type": "web_search"}


def raw(*tools: Any) -> bytes:
    return msgspec.json.encode(list(tools))


def test_kinds() -> None:
    found = read_tool_set(raw(READ, PATCH, AGENTS, SEARCH), None)
    assert [(tool.kind, tool.namespace, tool.name) for tool in found.tools] == [
        ("function", None, "read"),
        ("custom", None, "patch"),
        ("function", "agents", "spawn"),
    ]
    assert found.ignored == 1
    assert [tool["name"] for tool in msgspec.json.decode(found.echo)] == ["read"]
    assert found.tools[0].parameters == {"type": "object"}


def test_an_unchanged_set_is_not_parsed_again() -> None:
    known = read_tool_set(raw(READ), None)
    assert read_tool_set(raw(READ), known) is known
    assert read_tool_set(raw(PATCH), known) is not known
    assert read_tool_set(b"", known) is NO_TOOLS


def test_a_bad_tool_names_its_place() -> None:
    with pytest.raises(WireError) as caught:
        read_tool_set(raw(READ, {"type": "function"}), None)
    assert caught.value.param == "tools[1].name"


def choose(choice: Any, *tools: Any) -> Any:
    encoded = msgspec.UNSET if choice is msgspec.UNSET else msgspec.Raw(msgspec.json.encode(choice))
    return read_tool_choice(encoded, read_tool_set(raw(*tools), None))


@pytest.mark.parametrize(
    ("choice", "result"),
    [
        (msgspec.UNSET, "auto"),
        (None, "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "read"}, {"type": "function", "name": "read"}),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}, SEARCH]},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}, SEARCH]},
        ),
    ],
)
def test_choices_that_can_be_honoured(choice: Any, result: Any) -> None:
    assert choose(choice, READ, SEARCH) == result


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ({"type": "web_search"}, "tool_choice"),
        ({"type": "function", "name": "write"}, "tool_choice.name"),
        ({"type": "custom", "name": "read"}, "tool_choice.name"),
        ({"type": "allowed_tools", "mode": "required", "tools": [SEARCH]}, "tool_choice.tools"),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "no"}]},
            "tool_choice.tools[0].name",
        ),
    ],
)
def test_choices_that_can_not(choice: Any, param: str) -> None:
    with pytest.raises(WireError) as caught:
        choose(choice, READ, SEARCH)
    assert caught.value.param == param


def test_required_needs_a_usable_tool() -> None:
    with pytest.raises(WireError):
        choose("required", SEARCH)
