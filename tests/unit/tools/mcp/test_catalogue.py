"""What a server says of its tools, bounded and cleaned: names, schemas, descriptions, numbers; and its settings."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import ConfigError
from agent_core.tools.mcp.catalogue import (
    MAX_CATALOGUE_BYTES,
    MAX_DESCRIPTION,
    MAX_SCHEMA_BYTES,
    MAX_TOOLS,
    Listed,
    catalogue,
    usable_schema,
)
from agent_core.tools.mcp.content import MAX_PARTS, MAX_RESULT_BYTES, Answer, Part, as_text
from agent_core.tools.mcp.names import is_server_name, server_of, tool_name
from agent_core.tools.mcp.settings import read_servers

TAKEN = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def listed(name: str, **more: Any) -> Listed:
    return Listed(name=name, **({"description": "d", "schema": {"type": "object"}} | more))


@settings(max_examples=300)
@given(st.from_regex(r"[a-z0-9]{1,24}", fullmatch=True), st.text(max_size=200))
def test_any_name_becomes_one_that_services_take_and_stays_with_its_server(server: str, tool: str) -> None:
    name = tool_name(server, tool)
    assert TAKEN.match(name) and server_of(name) == server


@settings(max_examples=200)
@given(st.lists(st.text(max_size=80), unique=True, max_size=20))
def test_different_tools_never_share_a_name(names: list[str]) -> None:
    found = catalogue("s", [listed(name) for name in names])
    assert len({tool.spec.name for tool in found.offered}) == len(names) == len(found.offered)


def test_plain_names_are_kept_and_odd_ones_told_apart() -> None:
    assert tool_name("git", "git_status") == "mcp__git__git_status"
    assert tool_name("git", "a.b") != tool_name("git", "a_b") != tool_name("git", "a/b")
    assert [server_of(name) for name in ("shell", "mcp__", "mcp__x", "mcp__x__", "mcp__x__y__z")] == [
        None, None, None, None, "x",
    ]  # fmt: skip
    assert is_server_name("git-hub_2") and not any(map(is_server_name, ("", "a__b", "A", "a.b", "_a", "a_", "x" * 25)))


def test_what_a_tool_may_do_follows_from_both_hints_only() -> None:
    kinds = {
        (True, False, None): "mcp_read", (True, False, False): "mcp_read", (True, False, True): "mcp",
        (True, None, None): "mcp", (True, True, None): "mcp", (None, None, None): "mcp", (False, False, False): "mcp",
    }  # fmt: skip
    for (reads, open_world, destructive), kind in kinds.items():
        tool = listed("x", read_only=reads, open_world=open_world, destructive=destructive)
        assert catalogue("s", [tool]).offered[0].spec.kind == kind


def test_numbers_and_sizes_are_bounded_and_what_is_left_out_is_said() -> None:
    many = catalogue("s", [listed(f"t{n}") for n in range(500)])
    assert len(many.offered) == MAX_TOOLS and "500 tools" in many.left_out[0] and many.listed == 500
    big = {"type": "object", "properties": {"x": {"description": "y" * (MAX_SCHEMA_BYTES - 200)}}}
    heavy = catalogue("s", [listed(f"t{n}", schema=big) for n in range(40)])
    assert sum(len(msgspec.json.encode(tool.spec)) for tool in heavy.offered) <= MAX_CATALOGUE_BYTES
    assert heavy.left_out
    long = catalogue("s", [listed("x", description="a\n\x1b[31mb\x00" + "c" * 9_000)]).offered[0].spec.description
    assert len(long) <= MAX_DESCRIPTION and long.startswith("a bc")


def test_the_user_chooses_tools_and_hears_of_those_that_are_not_there() -> None:
    found = catalogue("s", [listed("a"), listed("b")], ("b", "c"))
    assert [tool.name for tool in found.offered] == ["b"]
    assert found.left_out == ("it has no tool 'c'",)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "string"}, "its input is no object"),
        ({"type": "object", "properties": []}, "its properties are no object"),
        ({"type": "object", "required": "all"}, "`required` is no list of names"),
        ({"type": "object", "required": [1]}, "`required` is no list of names"),
        ({"type": "object", "x": float("nan")}, ""),
        ({}, ""),
    ],
)
def test_schemas_that_no_service_takes_are_left_out(schema: dict[str, Any], problem: str) -> None:
    found, usable = usable_schema(schema)
    assert found == problem
    assert problem or (usable["type"] == "object" and "properties" in usable)


def test_a_nested_schema_ends() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(5_000):
        schema = {"type": "object", "properties": {"x": schema}}
    assert "nested" in usable_schema(schema)[0]


def test_answers_are_text_within_bounds() -> None:
    parts = (Part("text", "one\x1b[2J"), Part("other", "image image/png, 3 bytes"), Part("text", "two\ud800"))
    assert as_text(Answer(parts=parts)) == "one\n[image image/png, 3 bytes]\ntwo?"
    assert as_text(Answer(parts=())) == "(no output)"
    assert as_text(Answer(parts=(), structured='{"a":1}')) == '{"a":1}'
    long = as_text(Answer(parts=(Part("text", "head\n" + "x\n" * 500_000 + "tail"),)))
    assert long.startswith("head") and long.endswith("tail") and len(long) < MAX_RESULT_BYTES + 200
    many = as_text(Answer(parts=(Part("text", "x"),) * (MAX_PARTS + 5)))
    assert "[5 more parts left out]" in many


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"A b": {"command": ["x"]}}, "mcp.A b"),
        ({"a": {}}, "mcp.a"),
        ({"a": {"command": ["x"], "url": "http://localhost/"}}, "mcp.a"),
        ({"a": {"command": "x"}}, "mcp.a"),
        ({"a": {"command": ["x"], "commandd": 1}}, "mcp.a"),
        ({"a": {"command": ["x"], "approve": "yes"}}, "mcp.a"),
        ({"a": {"url": "ftp://x"}}, "mcp.a.url"),
        ({"a": {"url": "http://"}}, "mcp.a.url"),
        ({"a": {"url": "http://example.org/mcp", "bearer_env": "TOKEN"}}, "mcp.a.url"),
        ({"a": {"command": ["x"], "start_s": 0}}, "mcp.a.start_s"),
        ({"a": {"command": ["x"], "call_s": 1e9}}, "mcp.a.call_s"),
        ({f"s{n}": {"command": ["x"]} for n in range(17)}, "mcp"),
    ],
)
def test_settings_that_can_not_be_used_name_the_key(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as told:
        read_servers(table)
    assert told.value.key == key


def test_settings_and_their_defaults() -> None:
    found = read_servers(
        {
            "git": {"command": ["mcp-server-git", "--token", "x"]},
            "docs": {"url": "https://user:pw@docs.example.org:8443/mcp?key=1", "bearer_env": "T", "approve": "auto"},
            "off": {"command": ["x"], "enabled": False},
        }
    )
    assert list(found) == ["git", "docs"]
    assert (found["git"].approve, found["git"].tools, found["git"].transport) == ("ask", None, "stdio")
    assert [server.described() for server in found.values()] == [
        "stdio, mcp-server-git", "http, https://docs.example.org:8443",
    ]  # fmt: skip
