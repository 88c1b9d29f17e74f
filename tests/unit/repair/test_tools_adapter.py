"""From actions to the client's tools and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_core.repair import bare_shell
from agent_core.repair.actions import (
    Action,
    Edited,
    EditFile,
    FileText,
    Hits,
    Interpreter,
    ListFiles,
    Listing,
    ReadFile,
    Refused,
    RunScript,
    RunTests,
    ScriptOutput,
    Search,
    TestRun,
)
from agent_core.repair.tools_adapter import find_tools, read_checks
from agent_core.responses_server.engine import EngineTool
from tests.support.repair.tools import CodexTools, LooplineTools

ODD = "tab\there \"quotes\" \\back $HOME `tick` 'single' é\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pkg" / "m.py").write_text("".join(f"line_{number} = {number}\n" for number in range(1, 31)))
    (tmp_path / "pkg" / "odd.py").write_text(f'"""{ODD}"""\nVALUE = 1\n', encoding="utf-8")
    (tmp_path / "tests" / "test_m.py").write_text(
        "from pkg.m import line_2\n\n\ndef test_two():\n    assert line_2 == 2\n"
    )
    (tmp_path / "conftest.py").write_text("")
    return tmp_path


@pytest.fixture(params=["loopline", "codex"])
def client(request: pytest.FixtureRequest, root: Path) -> LooplineTools | CodexTools:
    return LooplineTools(root) if request.param == "loopline" else CodexTools(root)


async def do(client: LooplineTools | CodexTools, action: Action) -> Any:
    tools = find_tools(client.specs)
    assert tools.can(action)
    call = tools.call(action)
    return tools.observe(action, await client.run(call.name, call.text))


async def test_list(client: LooplineTools | CodexTools) -> None:
    observed = await do(client, ListFiles(depth=3))
    assert isinstance(observed, Listing)
    assert {"pkg/m.py", "pkg/odd.py", "tests/test_m.py"} <= set(observed.paths)


async def test_read(client: LooplineTools | CodexTools) -> None:
    observed = await do(client, ReadFile("pkg/m.py", 3, 5))
    assert observed == FileText("pkg/m.py", 3, 5, 30, "line_3 = 3\nline_4 = 4\nline_5 = 5")


async def test_read_keeps_every_character(client: LooplineTools | CodexTools) -> None:
    observed = await do(client, ReadFile("pkg/odd.py"))
    assert observed.text == f'"""{ODD}"""\nVALUE = 1'


async def test_read_of_nothing(client: LooplineTools | CodexTools) -> None:
    assert isinstance(await do(client, ReadFile("pkg/none.py")), Refused)


async def test_search(client: LooplineTools | CodexTools) -> None:
    observed = await do(client, Search(r"\bline_2\b"))
    assert isinstance(observed, Hits)
    assert ("pkg/m.py", 2, "line_2 = 2") in observed.found
    assert len(observed.found) == 3


async def test_edit(client: LooplineTools | CodexTools, root: Path) -> None:
    assert await do(client, EditFile("pkg/odd.py", ODD, ODD.upper())) == Edited("pkg/odd.py")
    assert (root / "pkg" / "odd.py").read_text(encoding="utf-8") == f'"""{ODD.upper()}"""\nVALUE = 1\n'


async def test_edit_must_be_the_only_place(client: LooplineTools | CodexTools, root: Path) -> None:
    before = (root / "pkg" / "m.py").read_bytes()
    assert isinstance(await do(client, EditFile("pkg/m.py", "line_1", "x")), Refused)
    assert isinstance(await do(client, EditFile("pkg/m.py", "line_99", "x")), Refused)
    assert (root / "pkg" / "m.py").read_bytes() == before


async def test_tests_that_pass_and_fail(client: LooplineTools | CodexTools, root: Path) -> None:
    run = await do(client, RunTests())
    assert isinstance(run, TestRun)
    assert (run.status, run.failed, run.passed, run.runner) == ("passed", 0, 1, "pytest")
    (root / "pkg" / "m.py").write_text("line_2 = 3\n")
    run = await do(client, RunTests("tests/test_m.py", run.command))
    assert (run.status, run.failed) == ("failed", 1)
    assert "assert 3 == 2" in run.output
    assert "-m pytest" in run.command


async def test_no_tests(client: LooplineTools | CodexTools, root: Path) -> None:
    (root / "tests" / "test_m.py").unlink()
    assert (await do(client, RunTests())).status == "none"


async def test_script(client: LooplineTools | CodexTools) -> None:
    observed = await do(
        client, RunScript(Interpreter(), "import os\nprint('in', os.path.basename(os.getcwd()))", "shows a folder")
    )
    assert isinstance(observed, ScriptOutput)
    assert observed.text.startswith("in ")


async def test_codex_edit_keeps_mode_and_newlines(root: Path) -> None:
    path = root / "pkg" / "dos.py"
    path.write_bytes(b"a = 1\r\nb = 2\r\n")
    path.chmod(0o750)
    assert await do(CodexTools(root), EditFile("pkg/dos.py", "a = 1\nb", "a = 3\nb")) == Edited("pkg/dos.py")
    assert path.read_bytes() == b"a = 3\r\nb = 2\r\n"
    assert path.stat().st_mode & 0o777 == 0o750


async def test_codex_stays_inside_the_workspace(root: Path) -> None:
    assert isinstance(await do(CodexTools(root), ReadFile("../outside.py")), Refused)


def test_codex_limits_time_and_output() -> None:
    tools = find_tools(CodexTools(Path()).specs)
    call = tools.call(RunScript(Interpreter(), "pass", "nothing", limit_s=30))
    assert call.name == "exec_command"
    assert call.arguments["yield_time_ms"] == 30_000
    assert call.arguments["max_output_tokens"] > 10_000


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "Chunk ID: 3f2a1c\nWall time: 0.81 seconds\nProcess exited with code 0\nOriginal token count: 7\nOutput:\n{}",
        "Exit code: 0\nWall time: 0.8 seconds\nOutput:\n{}",
        '{{"output": "one\\nOutput:\\ntwo\\n", "metadata": {{"exit_code": 0, "duration_seconds": 0.1}}}}',
    ],
)
def test_frames_around_outputs(frame: str) -> None:
    assert bare_shell.unwrap(frame.format("one\nOutput:\ntwo\n")) == "one\nOutput:\ntwo\n"


async def test_edits_are_found_again_in_a_conversation(client: LooplineTools | CodexTools) -> None:
    tools = find_tools(client.specs)
    edit = EditFile("pkg/odd.py", ODD, "x")
    call = tools.call(edit)
    assert tools.edit_of(call.name, call.text) == edit
    other = tools.call(ReadFile("pkg/odd.py"))
    assert tools.edit_of(other.name, other.text) is None
    assert tools.edit_of(call.name, "not json") is None


def tool(name: str, required: list[str], description: str = "", **properties: str) -> EngineTool:
    schema = {"properties": {key: {"type": kind} for key, kind in properties.items()}, "required": required}
    return EngineTool(name=name, description=description, parameters=schema)


def test_only_what_is_understood_is_used() -> None:
    assert not find_tools([]).can_work
    assert not find_tools([tool("weather", ["city"], city="string")]).can_work
    assert not find_tools([tool("command", ["command"], "Tells a joke", command="string")]).can_work
    assert not find_tools([tool("read", ["file", "mode"], file="string", mode="string")]).can_work
    assert find_tools([tool("do_it", ["script"], "Runs a bash script", script="string")]).command == "script"
    assert find_tools([tool("shell", ["command", "why"], command="string", why="string")]).can_work
    assert find_tools([EngineTool(name="exec_command", kind="custom")]).by_role == {}
    names = ("read", "edit", "checks")
    only_files = LooplineTools(Path(), without=("list", "search", "shell", "patch"))
    assert set(find_tools(only_files.specs).by_role) == set(names)
    assert find_tools(only_files.specs).can_work


def test_a_report_that_the_client_could_not_read() -> None:
    """Then the runner's own closing line counts; where there is none, the run did not get through."""
    head = "checks: status=error failed=? passed=? errors=? skipped=? runner=pytest command=python -m pytest"
    for closing, wanted in (
        ("4 passed in 0.77s", ("passed", 0, 4)),
        ("3 failed, 1 passed in 0.74s", ("failed", 3, 1)),
        ("1 error in 0.12s", ("failed", 1, 0)),
        ("timed out after 120 s", ("error", 0, None)),
    ):
        run = read_checks(f"{head}\n....\n{closing}")
        assert isinstance(run, TestRun)
        assert (run.status, run.failed, run.passed) == wanted


def test_outputs_of_every_kind_are_survived() -> None:
    loopline, codex = find_tools(LooplineTools(Path()).specs), find_tools(CodexTools(Path()).specs)
    actions: list[Action] = [
        ListFiles(),
        ReadFile("m.py"),
        Search("x"),
        EditFile("m.py", "a", "b"),
        RunTests(),
        RunScript(Interpreter(), "s", "w"),
    ]
    for output in (
        "",
        "denied by the user",
        "loopline: [1]",
        "loopline: {",
        "Output:\n",
        "{}",
        "checks: status=",
        "\x00\n" * 3,
    ):
        for action in actions:
            for tools in (loopline, codex):
                tools.observe(action, output)
