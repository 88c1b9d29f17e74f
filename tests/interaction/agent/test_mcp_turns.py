"""Real MCP servers from the registries, used in turns: approved per server, undone like the agent's own work, gone at
the end; and a folder that tries to bring its own."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.hosting.session import Hosted, HostOptions, host_session
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import Notice, ToolEnded, TurnEvent
from tests.support.lsp.puppet import Puppet, puppet, puppet_env, steps
from tests.support.service.clients import Client, ready
from tests.support.system.cli import environment, loopline
from tests.support.system.processes import wait_until_none
from tests.support.tools import mcp_server

GIT = Client("mcp-server-git", "python", ("mcp-server-git==2026.10.19",))
NODE = Client(
    "mcp-servers",
    "node",
    ("@modelcontextprotocol/server-filesystem@2026.8.31", "@modelcontextprotocol/server-everything@2026.8.31"),
)
SCRIPT = str(Path(mcp_server.__file__))
BOUND_S = 100.0


class Table:
    """A session with what it told and asked. `answer` is given to every question."""

    def __init__(self, hosted: Hosted, model: Puppet, root: Path, seen: list[TurnEvent], asked: list[Approval]) -> None:
        self.hosted, self.model, self.root, self.seen, self.asked = hosted, model, root, seen, asked

    async def turn(self, *each: dict[str, Any]) -> list[ToolEnded]:
        """Play these steps; what its tools came to."""
        before = len(self.seen)
        outcome = await self.hosted.session.run_turn(steps(*each, {"text": "end"}))
        assert outcome.status == "completed", outcome.text
        return [update for update in self.seen[before:] if isinstance(update, ToolEnded)]

    @property
    def warnings(self) -> list[str]:
        return [update.text for update in self.seen if isinstance(update, Notice) and update.severity != "info"]


@asynccontextmanager
async def session(
    tmp_path: Path, config: str, *, answer: Decision = "deny", flags: dict[str, Any] | None = None
) -> AsyncIterator[Table]:
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    seen: list[TurnEvent] = []
    asked: list[Approval] = []

    async def approver(approval: Approval) -> Decision:
        asked.append(approval)
        return answer

    async with asyncio.timeout(BOUND_S), puppet() as model:
        env = dict(puppet_env(tmp_path / "home", model))
        file = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(config)
        options = HostOptions(roots=(root,), client="test", env=env, flags=flags or {})
        async with host_session(options, observer=seen.append, approver=approver) as hosted:
            yield Table(hosted, model, root, seen, asked)
    assert wait_until_none(tmp_path / "home", 5) == {}


def table(name: str, command: list[str], **more: str) -> str:
    lines = [f"[mcp.{name}]", f"command = {command!r}", *(f"{key} = {value}" for key, value in more.items())]
    return "\n".join(lines) + "\n"


async def test_the_git_server_is_used_in_a_turn(tmp_path: Path) -> None:
    program = ready(GIT).folder / "bin" / "mcp-server-git"
    (tmp_path / "work").mkdir()
    git = ["git", "-C", str(tmp_path / "work"), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    _run(*git, "init", "-q")
    _run(*git, "commit", "-q", "--allow-empty", "-m", "the first of all")
    (tmp_path / "work" / "new.txt").write_text("x\n")
    config = table("git", [str(program), "--repository", "{root}"])
    async with session(tmp_path, config, answer="allow") as found:
        repo = str(found.root)
        log, added = await found.turn(
            {"call": "mcp__git__git_log", "args": {"repo_path": repo}},
            {"call": "mcp__git__git_add", "args": {"repo_path": repo, "files": ["new.txt"]}},
        )
        assert "the first of all" in log.output and log.status == "ok"
        assert added.status == "ok", added.output
        assert {"shell", "read", "mcp__git__git_status"} <= set(found.model.tools)
        # What its server says only reads is free; what writes was asked for, with its arguments.
        assert [(question.name, question.kind) for question in found.asked] == [("mcp__git__git_add", "mcp")]
        assert "new.txt" in found.asked[0].subject
        assert _run(*git, "diff", "--cached", "--name-only") == "new.txt\n"
        assert found.warnings == []


async def test_the_filesystem_server_writes_and_its_work_is_undone(tmp_path: Path) -> None:
    program = ready(NODE).binary("mcp-server-filesystem")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("before\n")
    config = table("files", [str(program), "{roots}"])
    async with session(tmp_path, config, answer="always") as found:
        path, other = str(found.root / "a.txt"), str(found.root / "b.txt")
        write = "mcp__files__write_file"
        await found.turn({"call": write, "args": {"path": path, "content": "after\n"}})
        second = await found.turn({"call": write, "args": {"path": other, "content": "new\n"}})
        assert [question.name for question in found.asked] == [write], "always counts at once, whatever its arguments"
        assert second[0].status == "ok" and (found.root / "b.txt").read_text() == "new\n"
        outside = await found.turn({"call": write, "args": {"path": str(tmp_path / "out"), "content": "x"}})
        assert outside[0].status == "error" and not (tmp_path / "out").exists()
        turns = [handle.turn for handle in found.hosted.session.turns]
        for turn in reversed(turns):
            await found.hosted.session.undo(turn)
        assert (found.root / "a.txt").read_text() == "before\n" and not (found.root / "b.txt").exists()


async def test_a_real_server_over_streamable_http_is_used_in_a_turn(tmp_path: Path) -> None:
    program = ready(NODE).binary("mcp-server-everything")
    async with (
        _everything(program) as url,
        session(tmp_path, f'[mcp.all]\nurl = "{url}"\n', answer="allow") as found,
    ):
        echoed, added = await found.turn(
            {"call": "mcp__all__echo", "args": {"message": "hello ёлка"}},
            {"call": "mcp__all__get-sum", "args": {"a": 20, "b": 22}},
        )
        assert "hello ёлка" in echoed.output
        assert "42" in added.output


@asynccontextmanager
async def _everything(program: Path) -> AsyncIterator[str]:
    """The official server of all features, over HTTP on a free port."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        str(program), "streamableHttp", env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(60):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                    continue
                writer.close()
                break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


MINE = table("mine", [sys.executable, SCRIPT, "good"])


@pytest.mark.parametrize(
    ("settings", "flags", "ran", "asked"),
    [
        ("", {}, {"echo": "denied", "peek": "ok", "fetch": "denied"}, 2),
        ("", {"approve": "auto"}, {"echo": "ok", "peek": "ok", "fetch": "ok"}, 0),
        ("", {"approve": "never"}, {"echo": "denied", "peek": "ok", "fetch": "denied"}, 0),
        ('approve = "auto"', {}, {"echo": "ok", "peek": "ok", "fetch": "ok"}, 0),
        ('approve = "auto"', {"approve": "never"}, {"echo": "ok", "peek": "ok", "fetch": "ok"}, 0),
        ('approve = "never"', {"approve": "auto"}, {"echo": "error", "peek": "error", "fetch": "error"}, 0),
    ],
)
async def test_each_server_has_its_own_policy(
    tmp_path: Path, settings: str, flags: dict[str, Any], ran: dict[str, str], asked: int
) -> None:
    async with session(tmp_path, f"{MINE}{settings}\n", flags=flags) as found:
        ended = await found.turn(*({"call": f"mcp__mine__{name}", "args": {"text": "x"}} for name in ran))
        assert {update.name.removeprefix("mcp__mine__"): update.status for update in ended} == ran
        assert len(found.asked) == asked


async def test_a_deny_rule_wins_also_over_a_server_that_is_free(tmp_path: Path) -> None:
    config = f'deny = ["tool:mcp__mine__echo *"]\n{MINE}approve = "auto"\n'
    async with session(tmp_path, config) as found:
        (echo,) = await found.turn({"call": "mcp__mine__echo", "args": {"text": "x"}})
        assert echo.status == "denied" and "deny rule" in echo.output


async def test_nothing_is_started_before_a_turn_needs_it_and_the_prefix_stays(tmp_path: Path) -> None:
    async with session(tmp_path, MINE) as found:
        assert not _runs(SCRIPT)
        await found.turn()
        assert _runs(SCRIPT)
        await found.turn()
        warm, first, second = found.model.service.creates
        own, all_of_them = warm.body["tools"], first.body["tools"]
        assert warm.body.get("generate") is False
        assert len(own) < len(all_of_them) and all_of_them[: len(own)] == own
        assert second.previous, "the tools are the same, so the chain holds"
    assert not _runs(SCRIPT)


async def test_a_server_that_dies_in_a_turn_is_told_once_and_the_turn_goes_on(tmp_path: Path) -> None:
    config = table("mine", [sys.executable, SCRIPT, "dies"], approve='"auto"')
    async with session(tmp_path, config) as found:
        call = {"call": "mcp__mine__echo", "args": {"text": "x"}}
        ended = await found.turn(call, call)
        assert [update.status for update in ended] == ["error", "error"]
        assert len([text for text in found.warnings if "MCP server mine" in text]) == 1


async def test_a_cancelled_turn_ends_a_call_that_never_answers(tmp_path: Path) -> None:
    config = table("mine", [sys.executable, SCRIPT, "slow"], approve='"auto"', call_s="3")
    async with session(tmp_path, config) as found:
        handle = found.hosted.session.start_turn(steps({"call": "mcp__mine__echo", "args": {"text": "x"}}))
        while not any(type(update).__name__ == "ToolBegan" for update in found.seen):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        found.hosted.session.cancel(handle.turn)
        async with asyncio.timeout(30):
            assert (await handle.done).status == "cancelled"
        (again,) = await found.turn({"call": "mcp__mine__peek"})
        assert again.status == "timeout", "the server is still there, and as slow as before"


# opencode#6361, vscode#316859, qwen-code#5368: a folder brought servers that ran when it was opened.
async def test_a_folder_can_not_bring_its_own_servers(tmp_path: Path) -> None:
    planted = tmp_path / "planted-ran"
    (tmp_path / "work" / ".loopline").mkdir(parents=True)
    (tmp_path / "work" / ".loopline" / "config.toml").write_text(
        table("theirs", ["/bin/sh", "-c", f"touch {planted}"]) + MINE.replace("[mcp.mine]", "[mcp.second]")
    )
    (tmp_path / "work" / ".mcp.json").write_text(
        f'{{"mcpServers": {{"theirs": {{"command": "touch", "args": ["{planted}"]}}}}}}'
    )
    async with session(tmp_path, "", flags={"trusted": (str(tmp_path / "work"),)}) as found:
        await found.turn()
        assert not any(name.startswith("mcp__") for name in found.model.tools)
        assert any("`mcp` is ignored" in text for text in found.warnings)
    assert not planted.exists()


def test_run_works_with_a_server_and_doctor_and_config_name_it_without_its_secrets(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    (tmp_path / "work").mkdir()
    file = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    file.parent.mkdir(parents=True)
    gone = table("gone", ["no-such-server"])
    file.write_text(MINE + 'env = { SERVICE_KEY = "k-secret" }\n' + gone)
    done = loopline("run", "hello", "-w", str(tmp_path / "work"), "--model", "scripted", "--json", env=env)
    assert done.code == 0, done.err
    notices = [line["text"] for line in done.lines if line["type"] == "notice"]
    assert "MCP server gone: no-such-server is not on PATH" in notices
    config = loopline("config", env=env)
    assert "mcp.mine" in config.out.replace("\n", "") or "mine" in config.out
    assert "k-secret" not in config.out + loopline("config", "--json", env=env).out
    doctor = loopline("doctor", env=env)
    assert re.search(r"mcp\.mine\s+stdio, \S+, 3 tools", doctor.out), doctor.out
    assert re.search(r"mcp\.gone\s+.*not on PATH", doctor.out), doctor.out
    assert "k-secret" not in doctor.out + doctor.err


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _runs(words: str) -> bool:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if words in (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode():
                    return True
            except OSError:
                continue
    return False
