"""The user's MCP servers in a session that the language server hosts: used in a turn, asked for in the editor, gone
with it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Json, stdio
from tests.support.lsp.puppet import Puppet, puppet_env, steps
from tests.support.suite.leftovers import processes_of
from tests.support.tools import mcp_server


async def test_a_server_of_the_user_is_asked_for_in_the_editor_and_used(
    tmp_path: Path, root: Path, model: Puppet
) -> None:
    env = puppet_env(tmp_path, model)
    config = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(Path(mcp_server.__file__)), "good"]
    config.write_text(f"[mcp.mine]\ncommand = {command!r}\n")
    asked: list[str] = []

    async def answer(params: Json) -> Json:
        asked.append(params["message"])
        return {"title": "Allow"}

    async with stdio(env) as client:
        with_answers(client).handlers["window/showMessageRequest"] = answer
        await client.initialize(root)
        end = await client.turn(
            steps(
                {"call": "mcp__mine__echo", "args": {"text": "from the editor"}},
                {"call": "mcp__mine__peek"},
                {"call": "open_documents"},
                {"text": "end"},
            )
        )
        assert end["text"] == "end"
        assert model.outputs[0] == "echo: from the editor"
        assert model.outputs[2].endswith("0 open, 0 unsaved")
        assert len(asked) == 1 and "from the editor" in asked[0], "reading was free"
        assert any(str(Path(mcp_server.__file__)) in line for line in processes_of(tmp_path).values())
        await client.shutdown()
        await client.until(client.ended.is_set)
    assert not any(str(Path(mcp_server.__file__)) in line for line in processes_of(tmp_path).values())
