"""What may be called: the choice, its limits, and what no model here could honour."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.errors import WireError
from agent_core.responses_server.engine import Capabilities
from agent_core.responses_server.request.calling import Calling, for_engine, read_calling
from agent_core.responses_server.request.toolset import read_tool_set
from agent_core.wire.requests import read_create_body

READ = {"type": "function", "name": "read", "parameters": {}}
PATCH = {"type": "custom", "name": "patch"}
SEARCH = {"type": "web_search"}
NAMED = {"type": "function", "name": "read"}


def call(*tools: Any, **fields: Any) -> Calling:
    create = read_create_body(msgspec.json.encode(fields))
    return read_calling(create, read_tool_set(msgspec.json.encode(list(tools))).tools)


@pytest.mark.parametrize(
    ("choice", "left", "must"),
    [
        (None, ["read", "patch"], False),
        ("auto", ["read", "patch"], False),
        ("none", [], False),
        ("required", ["read", "patch"], True),
        (NAMED, ["read"], True),
        ({"type": "custom", "name": "patch"}, ["patch"], True),
        ({"type": "allowed_tools", "mode": "auto", "tools": [NAMED, SEARCH]}, ["read"], False),
        ({"type": "allowed_tools", "mode": "required", "tools": [NAMED]}, ["read"], True),
    ],
)
def test_what_a_choice_leaves(choice: Any, left: list[str], must: bool) -> None:
    found = call(READ, PATCH, SEARCH, tool_choice=choice)
    assert ([tool.name for tool in found.tools], found.must) == (left, must)
    assert found.choice == ("auto" if choice is None else choice)
    assert found.is_bound is (choice not in (None, "auto", "required"))


def test_a_choice_that_was_not_sent() -> None:
    assert call(READ).choice == "auto"


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ({"type": "web_search"}, "tool_choice"),
        ({"type": "mcp", "server_label": "x"}, "tool_choice"),
        ({"type": "shell"}, "tool_choice"),
        ({"type": "function", "name": "write"}, "tool_choice.name"),
        ({"type": "custom", "name": "read"}, "tool_choice.name"),
        ({"type": "allowed_tools", "mode": "required", "tools": [SEARCH]}, "tool_choice.tools"),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "no"}]},
            "tool_choice.tools[0].name",
        ),
    ],
)
def test_choices_that_can_not_be_honoured(choice: Any, param: str) -> None:
    with pytest.raises(WireError) as caught:
        call(READ, SEARCH, tool_choice=choice)
    assert caught.value.param == param


def test_required_needs_a_usable_tool() -> None:
    with pytest.raises(WireError) as caught:
        call(SEARCH, tool_choice="required")
    assert caught.value.param == "tool_choice"


@pytest.mark.parametrize(
    ("fields", "at_most"),
    [
        ({}, None),
        ({"parallel_tool_calls": True}, None),
        ({"parallel_tool_calls": False}, 1),
        ({"max_tool_calls": 3}, 3),
        ({"max_tool_calls": 3, "parallel_tool_calls": False}, 1),
    ],
)
def test_how_many_calls(fields: dict[str, Any], at_most: int | None) -> None:
    assert call(READ, **fields).at_most == at_most


def test_what_an_engine_can_not_call_is_counted_or_refused() -> None:
    functions_only = Capabilities(tools=True, chat=True)
    left = for_engine(call(READ, PATCH), "m", functions_only)
    assert ([tool.name for tool in left.tools], left.unusable) == (["read"], 1)
    with pytest.raises(WireError) as caught:
        for_engine(call(READ, PATCH, tool_choice={"type": "custom", "name": "patch"}), "m", functions_only)
    assert caught.value.param == "tool_choice"
