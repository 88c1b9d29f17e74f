"""Tools of a request: what is offered, echoed and ignored; digests; tools that come as items."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.errors import WireError
from agent_core.responses_server.engine import Capabilities, EngineTool, Grammar
from agent_core.responses_server.request.toolset import (
    NO_TOOLS,
    SETS,
    SETS_BYTES,
    ToolSets,
    joined,
    read_tool_set,
    tools_in,
    usable,
)
from agent_core.responses_server.slices import at_once
from agent_core.wire.items import read_item

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
    found = read_tool_set(raw(READ, PATCH, AGENTS, SEARCH))
    assert [(tool.kind, tool.namespace, tool.name) for tool in found.tools] == [
        ("function", None, "read"),
        ("custom", None, "patch"),
        ("function", "agents", "spawn"),
    ]
    assert found.ignored == 1
    assert [tool["name"] for tool in msgspec.json.decode(found.echo)] == ["read"]
    assert found.tools[0].parameters == {"type": "object"}


def test_a_set_is_known_by_its_bytes() -> None:
    sets = ToolSets()
    known = sets.read(raw(READ))
    assert sets.read(raw(READ)) is known
    assert sets.read(raw(PATCH)) is not known
    assert sets.read(b"") is NO_TOOLS
    assert sets.parsed == 2
    plain = ToolSets(keep=False)
    assert plain.read(raw(READ)) is not plain.read(raw(READ))
    assert plain.parsed == 2


def test_kept_sets_are_bounded_by_count_and_bytes() -> None:
    sets = ToolSets()
    first = raw({**READ, "description": "0"})
    for number in range(SETS + 1):
        sets.read(raw({**READ, "description": str(number)}))
        if number < SETS:
            sets.read(first)
    assert len(sets) == SETS
    before = sets.parsed
    sets.read(first)
    assert sets.parsed == before, "it was used lately"
    for number in range(6):
        sets.read(raw({**READ, "description": f"{number}" + "x" * (SETS_BYTES // 4)}))
        assert sets.bytes <= SETS_BYTES
    assert len(sets) == 3


def test_a_bad_tool_names_its_place() -> None:
    with pytest.raises(WireError) as caught:
        read_tool_set(raw(READ, {"type": "function"}))
    assert caught.value.param == "tools[1].name"


@pytest.mark.parametrize("syntax", ["lark", "regex"])
def test_grammars_reach_the_engine(syntax: str) -> None:
    form = {"type": "grammar", "syntax": syntax, "definition": "[a-z]+"}
    (tool,) = read_tool_set(raw({"type": "custom", "name": "p", "format": form})).tools
    assert tool.format == Grammar(syntax=syntax, definition="[a-z]+")  # type: ignore[arg-type]


def test_an_unknown_grammar_names_its_place() -> None:
    inner = {"type": "custom", "name": "p", "format": {"type": "grammar", "syntax": "bnf", "definition": "x"}}
    with pytest.raises(WireError) as caught:
        read_tool_set(raw({**AGENTS, "tools": [AGENTS["tools"][0], inner]}))
    assert caught.value.param == "tools[0].tools[1].format.syntax"


@pytest.mark.parametrize("kind", ["additional_tools", "tool_search_output"])
def test_tools_that_come_as_items(kind: str) -> None:
    item = read_item(msgspec.json.encode({"type": kind, "tools": [READ, SEARCH]}))
    assert [tool.name for tool in at_once(tools_in([item]))] == ["read"]
    broken = read_item(msgspec.json.encode({"type": kind, "tools": [READ, {"type": "function"}]}))
    with pytest.raises(WireError) as caught:
        at_once(tools_in([item, broken]))
    assert caught.value.param == "input[1].tools[1].name"


def test_the_later_of_two_tools_counts() -> None:
    old, new, other = (
        EngineTool(name="a", description="old"),
        EngineTool(name="a", description="new"),
        EngineTool(name="b"),
    )
    assert joined([old, other], [new]) == (new, other)
    assert joined([old], []) == (old,)


def test_what_an_engine_can_call() -> None:
    tools = read_tool_set(raw(READ, PATCH)).tools
    assert usable(tools, Capabilities(tools=False, chat=True)) == ()
    assert [tool.name for tool in usable(tools, Capabilities(tools=True, chat=True))] == ["read"]
    assert usable(tools, Capabilities(tools=True, chat=True, custom_tools=True)) == tools
