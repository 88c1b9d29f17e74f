from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from agent_core.errors import WireError
from agent_core.wire.codec import to_raw
from agent_core.wire.requests import ToolChoice, read_tool_choice
from agent_core.wire.tools import (
    TOOLS,
    CustomTool,
    FormatText,
    FunctionTool,
    GrammarFormat,
    NamespaceTool,
    WebSearch20250826Tool,
    WebSearchTool,
    read_tools,
    tool_type,
)

FUNCTION = {"type": "function", "name": "read", "parameters": {"type": "object"}}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /a/"}


def test_tools_of_coding_agents() -> None:
    function, namespace, custom, plain, search = read_tools(
        to_raw(
            [
                {**FUNCTION, "strict": False, "future": 1},
                {
                    "type": "namespace",
                    "name": "files",
                    "description": "d",
                    "tools": [FUNCTION, {"type": "custom", "name": "x"}],
                },
                {"type": "custom", "name": "apply_patch", "format": GRAMMAR},
                {"type": "custom", "name": "note", "format": {"type": "text"}},
                {"type": "web_search", "external_web_access": False, "search_content_types": ["text"]},
            ]
        )
    )
    assert function == FunctionTool(name="read", parameters={"type": "object"}, strict=False)
    assert isinstance(namespace, NamespaceTool)
    assert [type(tool) for tool in namespace.tools] == [FunctionTool, CustomTool]
    assert isinstance(custom, CustomTool)
    assert custom.format == GrammarFormat(syntax="lark", definition="start: /a/")
    assert isinstance(plain, CustomTool)
    assert plain.format == FormatText()
    assert search == WebSearchTool(external_web_access=False)


def test_versioned_kinds_are_kinds_of_the_same_tool() -> None:
    (tool,) = read_tools(to_raw([{"type": "web_search_2025_08_26"}]))
    assert isinstance(tool, WebSearch20250826Tool)
    assert isinstance(tool, WebSearchTool)
    assert tool_type(tool) == "web_search_2025_08_26"
    assert len(TOOLS) == 18


def test_no_tools() -> None:
    assert read_tools(Raw(b"null")) == read_tools(Raw(b"[]")) == []


def test_function_parameters_may_be_null_or_missing() -> None:
    assert read_tools(to_raw([{**FUNCTION, "parameters": None}, {"type": "function", "name": "b"}])) == [
        FunctionTool(name="read"),
        FunctionTool(name="b"),
    ]


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ({"type": "teleport"}, "tools[1].type"),
        ({"name": "x"}, "tools[1].type"),
        ({"type": None}, "tools[1].type"),
        (3, "tools[1]"),
        ({"type": "function"}, "tools[1].name"),
        ({"type": "function", "name": ""}, "tools[1].name"),
        ({"type": "function", "name": 4}, "tools[1].name"),
        ({**FUNCTION, "parameters": "x"}, "tools[1].parameters"),
        ({**FUNCTION, "strict": "yes"}, "tools[1].strict"),
        ({**FUNCTION, "parameters": {"a": 10**40}}, "tools[1]"),
        ({"type": "namespace", "name": "n"}, "tools[1].tools"),
        ({"type": "namespace", "name": "n", "tools": [{"type": "web_search"}]}, "tools[1].tools[0].type"),
        ({"type": "namespace", "name": "n", "tools": [{"type": "function", "name": ""}]}, "tools[1].tools[0].name"),
        ({"type": "custom", "name": "c", "format": {"type": "xml"}}, "tools[1].format.type"),
        ({"type": "custom", "name": "c", "format": {**GRAMMAR, "syntax": "ebnf"}}, "tools[1].format.syntax"),
        (
            {"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "lark"}},
            "tools[1].format.definition",
        ),
        ({"type": "mcp"}, "tools[1].server_label"),
        ({"type": "file_search", "vector_store_ids": "x"}, "tools[1].vector_store_ids"),
        ({"type": "code_interpreter", "container": 4}, "tools[1].container"),
    ],
)
def test_strict_reading_names_the_field(tool: object, param: str) -> None:
    with pytest.raises(WireError) as caught:
        read_tools(to_raw([FUNCTION, tool]))
    assert (caught.value.code, caught.value.param) == ("invalid_request", param)


def test_tools_must_be_a_list() -> None:
    for body in ("{}", '"x"', "3"):
        with pytest.raises(WireError) as caught:
            read_tools(Raw(body.encode()))
        assert caught.value.param == "tools"


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        (None, ToolChoice()),
        ("auto", ToolChoice()),
        ("none", ToolChoice(mode="none")),
        ("required", ToolChoice(mode="required")),
        ({"type": "function", "name": "read"}, ToolChoice(mode="required", type="function", name="read")),
        ({"type": "custom", "name": "x"}, ToolChoice(mode="required", type="custom", name="x")),
        ({"type": "mcp", "server_label": "s"}, ToolChoice(mode="required", type="mcp")),
        ({"type": "image_generation"}, ToolChoice(mode="required", type="image_generation")),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]},
            ToolChoice(mode="auto", allowed=[{"type": "function", "name": "a"}]),
        ),
    ],
)
def test_tool_choice_in_one_shape(choice: Any, wanted: ToolChoice) -> None:
    assert read_tool_choice(to_raw(choice)) == wanted


def test_an_absent_tool_choice_is_auto() -> None:
    assert read_tool_choice(UNSET) == ToolChoice(mode="auto")


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ("maybe", "tool_choice"),
        (3, "tool_choice"),
        ([], "tool_choice"),
        ({}, "tool_choice.type"),
        ({"type": 3}, "tool_choice.type"),
        ({"type": "function"}, "tool_choice.name"),
        ({"type": "function", "name": ""}, "tool_choice.name"),
        ({"type": "custom"}, "tool_choice.name"),
        ({"type": "custom", "name": 3}, "tool_choice.name"),
        ({"type": "allowed_tools", "tools": []}, "tool_choice.mode"),
        ({"type": "allowed_tools", "mode": "none", "tools": []}, "tool_choice.mode"),
        ({"type": "allowed_tools", "mode": "auto"}, "tool_choice.tools"),
        ({"type": "allowed_tools", "mode": "auto", "tools": ["a"]}, "tool_choice.tools[0]"),
    ],
)
def test_a_bad_tool_choice_names_the_field(choice: object, param: str) -> None:
    with pytest.raises(WireError) as caught:
        read_tool_choice(Raw(json.dumps(choice).encode()))
    assert (caught.value.code, caught.value.param) == ("invalid_request", param)
