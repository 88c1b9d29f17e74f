from __future__ import annotations

import copy
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent_core.wire.codegen import Generator, event_name, tool_name
from agent_core.wire.generate import GENERATED, differences, main, stale_modules
from agent_core.wire.schema import (
    SCHEMA_PATH,
    Array,
    Choice,
    Field,
    Map,
    Ref,
    Scalar,
    Union,
    load_schema,
    parse_field,
    parse_spec,
)


def test_the_generated_modules_are_those_of_the_schema() -> None:
    assert stale_modules() == {}
    assert main(["--check"]) == 0


def test_a_stale_module_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in GENERATED.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr("agent_core.wire.generate.GENERATED", tmp_path)
    (tmp_path / "items.py").write_text("x = 1\n")
    (tmp_path / "tools.py").unlink()
    assert main(["--check"]) == 1
    assert "items.py is stale" in capsys.readouterr().out
    assert main([]) == 0
    assert main(["--check"]) == 0


def test_generating_is_deterministic() -> None:
    assert Generator(load_schema()).modules() == Generator(load_schema()).modules()


def test_names_of_structs() -> None:
    assert event_name("response.output_text.delta") == "OutputTextDelta"
    assert event_name("response.completed") == "ResponseCompleted"
    assert event_name("response.file_search_call.completed") == "FileSearchCallCompleted"
    assert event_name("error") == "ErrorEvent"
    assert event_name("responsesapi.websocket_timing") == "WebsocketTiming"
    assert tool_name("web_search_2025_08_26") == "WebSearch20250826Tool"


def test_the_schema_is_complete() -> None:
    schema = load_schema()
    vendor = json.loads(SCHEMA_PATH.read_bytes())["vendor"]
    assert len(vendor["server_events"]) == 62
    assert len(vendor["client_events"]) == 2
    assert (len(schema.items), len(schema.tools)) == (31, 18)


def test_the_type_language() -> None:
    assert parse_spec('"a"|"b" | null') == Union((Choice(("a", "b")), Scalar("null")))
    assert parse_spec("array<map<str,array<x.Y | str>>>") == Array(Map(Array(Union((Ref("x.Y"), Scalar("str"))))))
    assert parse_field("int?") == Field(Scalar("int"), required=False)
    assert parse_field("object") == Field(Scalar("object"), required=True)


@pytest.mark.parametrize(
    "text", ["", "array<", "array<str", "map<int,str>", "str |", "| str", "str str", "a<b>", "str & int", ">"]
)
def test_text_outside_the_type_language(text: str) -> None:
    with pytest.raises(ValueError, match="type|expected"):
        parse_spec(text)


def test_differences_between_schemas_are_named() -> None:
    ours = {
        "sdk": "a 1",
        "server_events": {"x": {"delta": "str", "gone": "int"}, "old": {}},
        "tools": {"function": "FunctionTool"},
    }
    theirs = copy.deepcopy(ours)
    assert list(differences(ours, {**theirs, "sdk": "a 2"})) == []
    theirs["server_events"] = {"x": {"delta": '"a"|"b" | null?', "new": "int"}, "young": {}}
    theirs["extra"] = {"a": "b"}
    assert sorted(differences(ours, theirs)) == [
        "added extra a",
        "added server_events x new",
        "added server_events young",
        'changed server_events x delta: -str +"a" +"b" +null +?',
        "removed server_events old",
        "removed server_events x gone",
    ]


@pytest.mark.skipif(find_spec("openai") is not None, reason="the SDK is installed here")
def test_without_the_sdk_the_comparison_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_core.wire.generate", "--diff-sdk"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "openai is not installed" in done.stdout


def test_the_format_and_its_tools_load_nothing_heavy() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from agent_core.wire import errors, events, generate, items, requests, sse\n"
        "print(*{m.partition('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stdout.split())
    assert loaded - {"typing_extensions"} == {"agent_core", "msgspec"}  # msgspec takes typing_extensions if it is there
