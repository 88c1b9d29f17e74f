"""What a session tells the model besides the user's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent.calls import Call
from agent_core.agent.context.context import SessionContext, instructions, workspace_facts
from agent_core.agent.context.environment import EnvironmentContext
from agent_core.agent.context.fragments import MAX_TOKENS, tokens_of
from agent_core.errors import ConfigError
from agent_core.tools.port import ToolResult
from agent_core.tools.workspace.workspace import Workspace
from tests.support.agent.git import ENV


def context_of(root: Path) -> SessionContext:
    workspace = Workspace([root])
    return SessionContext(workspace, EnvironmentContext(workspace, ENV))


def call(name: str, **arguments: Any) -> Call:
    return Call(call_id="c", key="c", name=name, arguments=json.dumps(arguments), item_type="function_call")


def texts(items: list[bytes]) -> list[str]:
    return [json.loads(item)["content"][0]["text"] for item in items]


def test_the_system_prompt_is_the_users_own_file_if_there_is_one(tmp_path: Path) -> None:
    assert "coding agent" in instructions(tmp_path)
    own = tmp_path / "instructions.md"
    own.write_text("  Speak like a pirate.\n")
    assert instructions(tmp_path) == "Speak like a pirate."
    own.write_text("word " * 100_000)
    assert tokens_of(instructions(tmp_path)) <= MAX_TOKENS["instructions"]
    own.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError) as caught:
        instructions(tmp_path)
    assert caught.value.where == str(own)


def test_the_facts_of_a_large_folder_are_bounded(tmp_path: Path) -> None:
    for n in range(3_000):
        (tmp_path / f"a_long_file_name_{n}.txt").touch()
    facts = workspace_facts([tmp_path])
    assert tokens_of(facts) < MAX_TOKENS["entries"] + 50
    assert "[cut here:" in facts


async def test_a_session_opens_with_folders_and_rules(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / ".hidden").touch()
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    (text,) = texts(await context_of(tmp_path).opening())
    assert f"Workspace root: {tmp_path.name}\nTop level: AGENTS.md src/" in text
    assert text.endswith(f"AGENTS.md of {tmp_path.name}:\nUse tabs.")
    assert ".hidden" not in text


async def test_a_tool_brings_in_the_rules_of_the_folders_it_touched(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "AGENTS.md").write_text("No globals.")
    context = context_of(tmp_path)
    await context.opening()
    assert context.after_tool(call("read", path="top.py"), ToolResult(output="")) == []
    told = texts(context.after_tool(call("read", path="src/deep/x.py"), ToolResult(output="")))
    assert told == [f"AGENTS.md of {tmp_path.name}/src:\nNo globals."]
    assert context.after_tool(call("edit", path="src/y.py"), ToolResult(output="")) == []
    assert context.after_tool(call("read", path="../out.py"), ToolResult(output="")) == []


async def test_what_a_patch_touched_counts_by_its_result(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "AGENTS.md").write_text("No globals.")
    context = context_of(tmp_path)
    result = ToolResult(output="", files_changed=("src/a.py",))
    assert len(context.after_tool(call("patch", patch="…"), result)) == 1


async def test_a_history_that_is_taken_up_is_not_told_again(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    earlier = context_of(tmp_path)
    items = await earlier.opening()
    items.append(b'{"type":"function_call","call_id":"c1","name":"read","arguments":"{\\"path\\":\\"a.py\\"}"}')
    later = context_of(tmp_path)
    later.recall(items)
    assert later.after_tool(call("read", path="a.py"), ToolResult(output="")) == []
    assert later.footprint.files == {"a.py": False}
    (text,) = texts(await later.opening(anew=True))
    assert "Use tabs." in text


async def test_nothing_new_is_no_message(tmp_path: Path) -> None:
    assert await context_of(tmp_path).before_turn() == []
