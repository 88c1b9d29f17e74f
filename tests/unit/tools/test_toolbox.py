from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.editor.diagnostics import Diagnostic, DiagnosticsTool
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.toolbox import MAX_WIRE_BYTES, Toolbox, checked_arguments
from agent_core.tools.workspace.workspace import Workspace
from tests.support.tools.toolbox import Bench

CONTEXT = ToolContext(tool_call="call_1")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_definitions_are_the_fixed_ones_and_small(bench: Bench) -> None:
    wire = bench.box.wire_json()
    assert len(wire) <= MAX_WIRE_BYTES
    tools = json.loads(wire)
    shapes = {
        tool["name"]: {
            key + ("" if key in tool["parameters"]["required"] else "?") for key in tool["parameters"]["properties"]
        }
        for tool in tools
    }
    assert shapes == {
        "list": {"path?", "depth?"},
        "read": {"path", "start?", "end?"},
        "search": {"pattern", "path?", "glob?"},
        "edit": {"path", "old", "new"},
        "patch": {"patch"},
        "shell": {"command", "timeout_s?"},
        "checks": {"target?"},
        "diagnostics": {"path?"},
        "plan": {"steps"},
    }
    for tool in tools:
        assert (tool["type"], tool["strict"]) == ("function", False)
        assert tool["parameters"]["type"] == "object"
        assert tool["parameters"]["additionalProperties"] is False
        for key in tool["parameters"]["properties"].values():
            assert key["type"] in ("string", "integer", "boolean", "array")
        assert tool["description"]
    assert bench.box.wire_json() is wire


def test_kinds_say_what_needs_approval(bench: Bench) -> None:
    kinds = {spec.name: bench.box.kind(spec.name) for spec in bench.box.specs}
    assert kinds == {
        "list": "read", "read": "read", "search": "read", "diagnostics": "read", "edit": "edit", "patch": "edit",
        "shell": "command", "checks": "command", "plan": "note", "ask": "note",
    }  # fmt: skip
    assert bench.box.kind("other") is None


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("nope", "{}", "there is no tool 'nope'; there are list, read, search, edit, patch, shell, checks"),
        ("", "{}", "there is no tool ''"),
        ("read", "", "read: 'path' is missing; it takes {path, start?, end?}"),
        ("read", "{", "read: the arguments are not JSON"),
        ("read", "[]", "read: the arguments are not a JSON object"),
        ("read", '"x"', "the arguments are not a JSON object"),
        ("read", '{"path": "a", "line": 1}', "read: unknown argument 'line'"),
        ("read", '{"path": ["a"]}', "'path' must be a string, got an array"),
        ("read", '{"path": null}', "'path' is missing"),
        ("read", '{"path": "a", "start": true}', "'start' must be an integer, got a boolean"),
        ("read", '{"path": "a", "start": "x"}', "'start' must be an integer, got a string"),
        ("read", '{"path": "\\u0000"}', "can't hold a NUL character"),
        ("read", '{"path": "\\ud800"}', "not JSON"),
        ("plan", '{"steps": "a"}', "'steps' must be an array, got a string"),
        ("plan", '{"steps": ["a", 1]}', "'steps[1]' must be a string, got an integer"),
        ("plan", '{"steps": []}', "a plan needs at least one step"),
        ("plan", json.dumps({"steps": ["x"] * 51}), "a plan has at most 50 steps, this one has 51"),
        ("shell", '{"command": "x", "timeout_s": 99999999999999999999}', "it goes from 1 to 3600"),
    ],
)
async def test_a_call_that_does_not_fit_is_a_result(bench: Bench, name: str, arguments: str, message: str) -> None:
    result = await bench.box.run(name, arguments, CONTEXT)
    assert result.status == "error"
    assert result.output.startswith("error: ")
    assert message in result.output
    assert result.summary == result.output.removeprefix("error: ").split("\n")[0]


class Odd:
    """A tool that does what its argument says."""

    spec = ToolSpec(name="odd", description="odd", parameters=schema.parameters({"what": schema.STRING}), kind="read")

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        what = arguments["what"]
        if what == "surrogates":
            return ToolResult(output="a\udcff", summary="b\ud800", diff="c\udc00")
        if what == "wait":
            await asyncio.sleep(60)
        raise {"tool": ToolError("no\udcff", code="x"), "os": OSError(28, "No space left on device")}.get(
            what, RuntimeError("secret text")
        )


async def test_whatever_a_tool_raises_is_a_result(caplog: pytest.LogCaptureFixture) -> None:
    box = Toolbox([Odd()])

    async def run(what: str) -> ToolResult:
        return await box.run("odd", json.dumps({"what": what}), CONTEXT)

    assert (await run("tool")).output == "error: no\ufffd"
    assert (await run("os")).output == "error: odd: no space left on device"
    assert (await run("bug")).output == "error: odd: internal error (RuntimeError)"
    assert "secret text" not in caplog.text
    cleaned = await run("surrogates")
    assert (cleaned.output, cleaned.summary, cleaned.diff) == ("a\ufffd", "b\ufffd", "c\ufffd")


async def test_only_cancellation_gets_out() -> None:
    task = asyncio.ensure_future(Toolbox([Odd()]).run("odd", '{"what": "wait"}', CONTEXT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_numbers_are_taken_as_models_write_them(bench: Bench) -> None:
    spec = next(spec for spec in bench.box.specs if spec.name == "read")
    assert checked_arguments(spec, '{"path": "a", "start": "7", "end": 9.0}') == {"path": "a", "start": 7, "end": 9}


async def test_a_plan_is_noted_with_states(bench: Bench) -> None:
    result = await bench.run("plan", steps=["done: read", "Doing : fix", "todo: test", "http://x: not a state"])
    assert (result.output, result.summary) == ("plan noted: 1 of 4 steps done", "1 of 4 steps done")
    assert result.data["steps"] == [
        {"text": "read", "status": "done"},
        {"text": "fix", "status": "doing"},
        {"text": "test", "status": "todo"},
        {"text": "http://x: not a state", "status": "todo"},
    ]


class Host:
    """Diagnostics of an editor; `lost` once its connection is gone."""

    lost = False

    async def diagnostics(self, path: str | None) -> list[Diagnostic]:
        if self.lost:
            raise ToolError("the editor is gone", code="host_lost")
        everything = [
            Diagnostic(
                path="/w/a.py", line=3, column=1, severity="error", message="undefined\n  name 'x'", source="lint"
            ),
            Diagnostic(path="/w/b.py", line=1, column=9, severity="hint", message="unused"),
        ]
        return [item for item in everything if path in (None, item.path)]


async def test_diagnostics_come_from_the_host(tmp_path: Path, bench: Bench) -> None:
    assert await bench.ok("diagnostics") == "no diagnostics from this host; run checks instead"
    host = Host()
    box = Toolbox([DiagnosticsTool(Workspace([tmp_path]), host)])
    result = await box.run("diagnostics", "{}", CONTEXT)
    assert result.output == ("/w/a.py:3:1: error: undefined name 'x' [lint]\n/w/b.py:1:9: hint: unused\n2 diagnostics")
    assert result.data["errors"] == 1
    host.lost = True
    assert (await box.run("diagnostics", "{}", CONTEXT)).output == "error: the editor is gone"


async def test_reads_run_side_by_side(bench: Bench) -> None:
    for number in range(20):
        bench.write(f"f{number}.txt", f"{number}\n" * 1000)
    results = await asyncio.gather(
        *(bench.run("read", path=f"f{number}.txt") for number in range(20)),
        *(bench.run("search", pattern=f"^{number}$", path=f"f{number}.txt") for number in range(20)),
    )
    assert {result.status for result in results} == {"ok"}
