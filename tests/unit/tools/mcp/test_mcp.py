"""MCP servers over both transports: one that works, and those that flood, lie, stall, die or will not end."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.tools.mcp.catalogue import MAX_TOOLS
from agent_core.tools.mcp.server import MAX_STARTS, Place
from agent_core.tools.mcp.servers import Servers
from agent_core.tools.mcp.settings import read_servers
from agent_core.tools.port import ToolContext, ToolResult
from agent_core.tools.toolbox import Toolbox
from tests.support.system.processes import alive
from tests.support.tools import mcp_server
from tests.support.tools.toolbox import BIN, Gaps

# The SDK lets go of the pipes of a server that had to be killed without closing them; they are closed when they are
# collected, in the middle of whatever test runs then.
LET_GO = r"ignore:Exception ignored in. <function \w+Transport.__del__:pytest.PytestUnraisableExceptionWarning"
pytestmark = pytest.mark.filterwarnings(LET_GO)

SCRIPT = str(Path(mcp_server.__file__))
BOUND_S = 60.0


class Session:
    """A toolbox with one server, as a session has it."""

    def __init__(self, tables: dict[str, Any], root: Path, user: dict[str, str]) -> None:
        self.told: list[str] = []
        self.lines: list[str] = []
        around = Place(
            roots=lambda: (str(root),), environment=BIN, user_environment={**BIN, **user}, tell=self.told.append
        )
        self.servers = Servers(read_servers(tables), around)
        self.box = Toolbox([], source=self.servers)

    async def run(self, name: str, **arguments: Any) -> ToolResult:
        context = ToolContext(tool_call="c", progress=self.lines.append)
        return await self.box.run(name, json.dumps(arguments), context)

    @property
    def names(self) -> list[str]:
        return [spec.name for spec in self.box.specs]


Opener = Callable[..., Any]
ASKS = pytest.mark.parametrize("transport", ["stdio"], indirect=True)
"""For servers that say something unasked: on HTTP they have a connection only while they answer."""


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opened(transport: str, tmp_path: Path) -> Opener:
    @asynccontextmanager
    async def enter(mode: str, **more: Any) -> AsyncIterator[Session]:
        user = more.pop("user", {})
        limits = {"start_s": 20.0, "call_s": 20.0} | more
        async with asyncio.timeout(BOUND_S):
            if transport == "stdio":
                table = {"command": [sys.executable, SCRIPT, mode], **limits}
                session = Session({"test": table}, tmp_path, user)
                try:
                    yield session
                finally:
                    await session.box.close()
            else:
                async with mcp_server.mcp_serving(mode) as server:
                    session = Session({"test": {"url": server.url, **limits}}, tmp_path, user)
                    try:
                        yield session
                    finally:
                        await session.box.close()

    return enter


async def test_its_tools_are_found_called_and_told_apart(opened: Opener) -> None:
    async with opened("good") as session:
        assert session.names == [] and await session.box.refresh()
        assert session.names == ["mcp__test__echo", "mcp__test__peek", "mcp__test__fetch"]
        assert [spec.kind for spec in session.box.specs] == ["mcp", "mcp_read", "mcp"]
        assert not await session.box.refresh(), "the bytes stay the same"
        said = await session.run("mcp__test__echo", text="hello ёлка \u2028")
        assert (said.status, said.output) == ("ok", "echo: hello ёлка \u2028")
        failed = await session.run("mcp__test__echo", text="fail")
        assert (failed.status, failed.output) == ("error", "it failed")
        picture = await session.run("mcp__test__echo", text="picture")
        assert picture.output == "[image image/png, 300 bytes]\na picture"
        bad = await session.box.run("mcp__test__echo", "no json", ToolContext(tool_call="c"))
        assert bad.data["code"] == "bad_arguments"
        several = await asyncio.gather(*(session.run("mcp__test__echo", text=str(n)) for n in range(20)))
        assert [result.output for result in several] == [f"echo: {n}" for n in range(20)]
        assert session.told == []


@pytest.mark.parametrize("mode", ["endless", "flood", "wrong_answer", "no_json"])
async def test_an_answer_that_floods_or_fits_nothing_is_an_error_of_that_call(opened: Opener, mode: str) -> None:
    async with opened(mode) as session, Gaps() as gaps:
        await session.box.refresh()
        if mode == "no_json" and not session.names:  # what is no JSON may end the start, or be passed over
            assert len(session.told) == 1
            return
        result = await session.run("mcp__test__echo", text="x")
        assert result.status in ("error", "timeout") or mode == "no_json"
        assert len(result.output) < 2_000
    assert gaps.longest_s < 2.0


async def test_floods_while_nothing_is_asked_end_the_server_and_nothing_else(opened: Opener, transport: str) -> None:
    async with opened("flood_idle") as session:
        await session.box.refresh()
        if transport == "stdio":
            await _until(lambda: bool(session.told))
            assert "more than was asked for" in session.told[0]
        results = [await session.run("mcp__test__echo", text="x") for _ in range(2)]
        assert all(len(result.output) < 2_000 for result in results)


async def test_lists_that_do_not_fit_are_told_and_no_tool_is_made_of_them(opened: Opener) -> None:
    async with opened("wrong_list") as session:
        assert not await session.box.refresh()
        assert session.told == ["MCP server test: its answer does not fit the protocol"]
    async with opened("wrong_schemas") as session:
        await session.box.refresh()
        assert session.names == ["mcp__test__echo"]
        assert len(session.told) == 2 and all("left out" in text for text in session.told)
        await session.box.refresh()
        assert len(session.told) == 2, "each is told once"


async def test_huge_and_endless_lists_are_cut(opened: Opener) -> None:
    async with opened("huge_list") as session, Gaps() as gaps:
        await session.box.refresh()
        assert len(session.names) == MAX_TOOLS and "5000 tools" in session.told[0]
    assert gaps.longest_s < 2.0
    async with opened("endless_list") as session:
        await session.box.refresh()
        assert 10 <= len(session.names) <= MAX_TOOLS
    async with opened("huge_list", tools=["tool_4999", "tool_none"]) as session:
        await session.box.refresh()
        assert session.names in (["mcp__test__tool_4999"], [])  # beyond what is read of a list there is nothing


async def test_names_that_lie_stay_with_their_server(opened: Opener) -> None:
    async with opened("liar") as session:
        await session.box.refresh()
        assert all(name.startswith("mcp__test__") and len(name) <= 64 for name in session.names)
        assert len(set(session.names)) == 9  # ten, one of them twice
        assert {spec.kind for spec in session.box.specs} == {"mcp"}
        assert all(len(spec.description) <= 1_000 and "\x1b" not in spec.description for spec in session.box.specs)
        assert session.told == ["MCP server test: left out: 'echo' is listed twice"]


async def test_slow_ones_are_given_up(opened: Opener) -> None:
    started = time.monotonic()
    async with opened("slow_start", start_s=1.0) as session:
        assert not await session.box.refresh()
        assert session.told == ["MCP server test: it was not ready within 1 s"]
        await session.box.refresh()
        assert len(session.told) == 1, "it is not tried again and again"
    async with opened("slow", call_s=0.5) as session:
        await session.box.refresh()
        result = await session.run("mcp__test__echo", text="x")
        assert result.status == "timeout" and "did not answer in time" in result.output
        task = asyncio.create_task(session.run("mcp__test__echo", text="x"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert time.monotonic() - started < 40


async def test_one_that_dies_is_told_once_and_started_again_a_few_times(opened: Opener, transport: str) -> None:
    async with opened("dies") as session:
        await session.box.refresh()
        results = [await session.run("mcp__test__echo", text="x") for _ in range(MAX_STARTS + 2)]
        assert all(result.status == "error" for result in results)
        assert all(result.data["code"] in ("server_gone", "bad_answer", "server_refused") for result in results)
        if transport == "stdio":
            wanted = "MCP server test: it ended with exit code 3: boom: a secret of the server"
            assert session.told == [wanted]
            assert {result.output for result in results} == {f"error: {wanted}"}
        assert session.names == ["mcp__test__echo", "mcp__test__peek", "mcp__test__fetch"], "what the model sees stays"


async def test_one_that_is_not_there_is_told(opened: Opener) -> None:
    async with opened("dies_at_once", start_s=10.0) as session:
        assert not await session.box.refresh()
        assert len(session.told) == 1 and session.told[0].startswith("MCP server test: it ")
        result = await session.run("mcp__test__echo", text="x")
        assert result.data["code"] == "unknown_tool"


async def test_large_answers_keep_head_and_tail(opened: Opener) -> None:
    async with opened("large") as session, Gaps() as gaps:
        await session.box.refresh()
        result = await session.run("mcp__test__echo", text="x")
        assert result.status == "ok" and len(result.output) < 65_000
        assert result.output.startswith("first\nred line") and result.output.endswith("last")
        assert "\x1b" not in result.output
    assert gaps.longest_s < 2.0


@ASKS
async def test_what_it_asks_of_us_is_declined(opened: Opener) -> None:
    async with opened("asks") as session:
        await session.box.refresh()
        assert (await session.run("mcp__test__echo", text="x")).output == "asked"


@ASKS
async def test_a_list_that_changed_is_asked_for_again_with_the_next_turn(opened: Opener) -> None:
    async with opened("changes") as session:
        await session.box.refresh()
        await session.run("mcp__test__echo", text="x")
        assert await session.box.refresh() and session.names == ["mcp__test__later"]
        assert not await session.box.refresh()


async def test_nothing_of_a_stubborn_one_is_left(tmp_path: Path) -> None:
    session = Session({"test": {"command": [sys.executable, SCRIPT, "stubborn"]}}, tmp_path, {})
    async with asyncio.timeout(BOUND_S):
        await session.box.refresh()
        assert session.names
        pids = _running("time.sleep(983)")
        assert pids
        started = time.monotonic()
        await session.box.close()
        assert time.monotonic() - started < 40
    assert not any(map(alive, pids)) and not _running("time.sleep(983)")
    assert (await session.run("mcp__test__echo", text="x")).status == "error", "closed is closed"


async def test_a_cancelled_start_leaves_nothing_behind(tmp_path: Path) -> None:
    session = Session({"test": {"command": [sys.executable, SCRIPT, "slow_start"]}}, tmp_path, {})
    asking = asyncio.create_task(session.box.refresh())
    await _until(lambda: bool(_running("slow_start")))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(BOUND_S):
        await session.box.close()
    assert not _running("slow_start")


async def test_a_process_gets_no_secrets_but_those_that_are_named_and_does_not_run_in_the_workspace(
    tmp_path: Path,
) -> None:
    user = {"OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "gh-1", "OTHER_TOKEN": "o-1"}
    table = {"command": [sys.executable, SCRIPT, "good"], "pass_env": ["GITHUB_TOKEN"], "env": {"X_KEY": "{root}"}}
    (tmp_path / "home").mkdir()
    session = Session({"test": {**table, "cwd": str(tmp_path / "home")}}, tmp_path / "work", user)
    async with asyncio.timeout(BOUND_S):
        await session.box.refresh()
        seen = json.loads((await session.run("mcp__test__echo", text="environment")).output)
        assert (await session.run("mcp__test__peek")).output == str(tmp_path / "home")
        await session.box.close()
    assert seen["GITHUB_TOKEN"] == "gh-1" and seen["X_KEY"] == "{root}"
    assert "OPENAI_API_KEY" not in seen and "OTHER_TOKEN" not in seen


async def test_a_program_is_never_taken_from_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted").write_text("#!/bin/sh\ntouch planted-ran\n")
    (tmp_path / "planted").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    session = Session({"test": {"command": ["planted"]}}, tmp_path, {})
    session.servers.servers[0]._around = Place(
        roots=lambda: (str(tmp_path),), environment={**BIN, "PATH": ".::/usr/bin"}, user_environment={},
        tell=session.told.append,
    )  # fmt: skip
    await session.box.refresh()
    await session.box.close()
    assert session.told == ["MCP server test: planted is not on PATH"] and not (tmp_path / "planted-ran").exists()


async def test_a_token_goes_to_its_server_and_a_missing_one_is_told(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND_S), mcp_server.mcp_serving("good") as server:
        table = {"url": server.url, "bearer_env": "DOCS_TOKEN", "headers": {"X-Team": "a"}}
        session = Session({"test": table}, tmp_path, {"DOCS_TOKEN": "t-1"})
        await session.box.refresh()
        await session.box.close()
        assert {seen["authorization"] for seen in server.seen} == {"Bearer t-1"}
        assert {seen["x-team"] for seen in server.seen} == {"a"}
        session = Session({"test": table}, tmp_path, {})
        await session.box.refresh()
        await session.box.close()
        assert session.told == ["MCP server test: the variable DOCS_TOKEN is not set"]


async def test_without_the_extra_the_user_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "agent_core.tools.mcp.sdk", None)
    session = Session({"test": {"command": [sys.executable, SCRIPT, "good"]}}, tmp_path, {})
    assert not await session.box.refresh()
    await session.box.close()
    assert session.told == ["MCP server test: the extra `mcp` is not installed: pip install 'loopline[mcp]'"]


async def test_one_that_may_never_run_is_not_started(tmp_path: Path) -> None:
    session = Session({"test": {"command": [sys.executable, SCRIPT, "good"], "approve": "never"}}, tmp_path, {})
    assert not await session.box.refresh() and session.names == []
    await session.box.close()


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - a process, or a list, that tells nobody
            await asyncio.sleep(0.01)


def _running(words: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if words in line and alive(int(folder.name)):
                found.append(int(folder.name))
    return found
