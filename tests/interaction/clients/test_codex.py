"""The Codex CLI, unchanged, over WebSocket: how it talks to the service, and that it mends the demo project with it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agent.others import codex
from tests.support.model.relay import relay_to
from tests.support.service.clients import ROOT
from tests.support.service.running import playing, running_service

pytestmark = pytest.mark.timeout(900)

SAMPLE = ROOT / "agent_core" / "demo" / "sample"
ROLLOUT = {
    "steps": [
        {"output": [{"function_call": {"name": "exec_command", "arguments": {"cmd": "echo from-the-tool"}}}]},
        {"expect": {"last": "function_call_output", "contains": "from-the-tool"}, "output": [{"text": "All done."}]},
    ]
}


@pytest.mark.rule("clients.codex")
async def test_two_model_turns_with_a_tool_call_on_one_socket(tmp_path: Path) -> None:
    """One handshake, a warm-up, then deltas only, and nothing tried twice."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    with playing(tmp_path, ROLLOUT) as running:
        async with relay_to(running.url) as relay:
            events = await codex(tmp_path, relay.base_url, "scripted", "Run the tool.", workspace)
    assert relay.handshakes == 1
    warm, first, second = relay.up[0]
    ids = [frame["response"]["id"] for frame in relay.down[0] if frame["type"] == "response.created"]
    ends = [
        frame["type"] for frame in relay.down[0] if frame["type"] in ("response.completed", "error", "response.failed")
    ]
    assert ends == ["response.completed"] * 3
    assert (warm["generate"], warm.get("previous_response_id")) == (False, None)
    assert [first["previous_response_id"], second["previous_response_id"]] == ids[:2]
    assert [item["type"] for item in second["input"]] == ["function_call_output"]
    assert not any(item["type"] == "function_call" for item in first["input"])
    done = [event["item"] for event in events if event["type"] == "item.completed"]
    (command,) = (item for item in done if item["type"] == "command_execution")
    assert (command["aggregated_output"].strip(), command["exit_code"]) == ("from-the-tool", 0)
    assert [item["text"] for item in done if item["type"] == "agent_message"] == ["All done."]
    (turn,) = (event for event in events if event["type"] == "turn.completed")
    assert turn["usage"]["cached_input_tokens"] > turn["usage"]["input_tokens"] / 2
    assert not any("retry" in json.dumps(event).lower() or "reconnect" in json.dumps(event).lower() for event in events)


@pytest.mark.rule("clients.codex")
async def test_codex_mends_the_demo_project_with_the_model_repair(tmp_path: Path) -> None:
    """Through its own `exec_command` alone; the tests that failed pass, and the tests themselves are as they were."""
    workspace = tmp_path / "work"
    shutil.copytree(SAMPLE, workspace)
    before = {path.name: path.read_bytes() for path in workspace.rglob("test*.py")}
    assert checks(workspace) != 0
    with running_service() as running:
        async with relay_to(running.url) as relay:
            events = await codex(tmp_path, relay.base_url, "repair", "Fix the failing tests.", workspace)
    assert relay.handshakes == 1
    assert checks(workspace) == 0
    assert {path.name: path.read_bytes() for path in workspace.rglob("test*.py")} == before
    said = [event["item"] for event in events if event["type"] == "item.completed"]
    assert {item["type"] for item in said} <= {"agent_message", "command_execution", "error", "todo_list"}
    assert "Fixed" in [item["text"] for item in said if item["type"] == "agent_message"][-1]
    creates = relay.up[0]
    assert len(creates) > 3
    assert all(create.get("previous_response_id") for create in creates[1:])


def checks(workspace: Path) -> int:
    """Exit code of the sample's own tests."""
    command = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    return subprocess.run(command, cwd=workspace, capture_output=True, timeout=60).returncode
