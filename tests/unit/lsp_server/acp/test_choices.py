"""What a client may choose, what it says, and what it brings."""

from __future__ import annotations

from typing import Any

import pytest
from acp import schema

from agent_core.config.settings import Approve
from agent_core.errors import ConfigError, UsageError
from agent_core.turns.approval import Approval
from agent_core.turns.options import TurnOptions
from lsp_server.acp.choices import Choices
from lsp_server.acp.front_end import offered, permission
from lsp_server.acp.mcp import tables
from lsp_server.acp.prompts import named, task_of


@pytest.mark.parametrize(
    ("approve", "folders", "modes"),
    [
        ("ask", None, ["ask", "auto", "plan"]),
        ("auto", None, ["ask", "auto", "plan"]),
        ("never", None, ["ask", "auto", "never", "plan"]),
        ("ask", "ask", ["ask", "plan"]),
        ("never", "never", ["never", "plan"]),
    ],
)
def test_modes_by_what_settings_and_folder_say(approve: Approve, folders: Approve | None, modes: list[str]) -> None:
    choices = Choices(approve=approve, folders=folders)
    assert choices.modes == modes and choices.mode == approve
    schema.NewSessionResponse.model_validate({"sessionId": "s", **choices.described()})


def test_choosing() -> None:
    choices = Choices(approve="ask", model="a", models=("a", "b"), efforts=("low", "high"))
    assert choices.take("model", "b")
    assert not choices.take("model", "b")
    assert not choices.take("effort", "high")
    assert choices.of_turn == TurnOptions(effort="high")
    choices.take("effort", "default")
    assert choices.of_turn == TurnOptions()
    for mode, anew, told in (("plan", False, "plan"), ("ask", False, "act"), ("auto", True, "act")):
        assert choices.take_mode(mode) is anew
        assert choices.of_turn.mode == told
    for option, value in (("model", "c"), ("effort", "xhigh"), ("mode", "never"), ("size", "xl")):
        with pytest.raises(UsageError) as refused:
            choices.take(option, value)
        assert refused.value.code == "unknown_choice"


def test_names_of_what_is_mentioned() -> None:
    assert named("file:///a%20b/c.py#L3") == "/a b/c.py (L3)" and named("https://x.org/a") == "https://x.org/a"


def test_a_prompt_of_a_file_alone() -> None:
    text = schema.TextResourceContents(uri="file:///n.txt", text="one")
    block = schema.EmbeddedResourceContentBlock(type="resource", resource=text)
    assert task_of([block]) == "/n.txt\n\n/n.txt holds:\n```\none\n```"


def stdio(name: str, **more: Any) -> schema.McpServerStdio:
    return schema.McpServerStdio(
        name=name, command="srv", args=["-x"], env=[schema.EnvVariable(name="A", value="1")], **more
    )


def test_servers_that_a_client_brings() -> None:
    http = schema.HttpMcpServer(type="http", name="Web Search", url="https://x.org/mcp", headers=[])
    found = tables([stdio("My Server!"), stdio("my-server"), http], "/work")
    assert found["my-server"] == {"command": ["srv", "-x"], "env": {"A": "1"}, "cwd": "/work"}
    assert list(found) == ["my-server", "my-server-1", "web-search"] and "approve" not in found["web-search"]
    with pytest.raises(UsageError):
        tables([schema.SseMcpServer(type="sse", name="s", url="https://x.org", headers=[])], "/work")
    with pytest.raises(ConfigError):
        tables([stdio(f"s{number}") for number in range(17)], "/work")


def test_a_permission_shows_all_that_is_asked() -> None:
    command = "echo \x1b]0;x\x07" + "y" * 5_000
    approval = Approval(
        approval_id="a", session_id="s", turn_id="t", kind="command", name="shell", subject=command, always=False
    )
    asked = permission(approval)
    schema.RequestPermissionRequest.model_validate(asked)
    text = asked["toolCall"]["content"][0]["content"]["text"]
    assert "y" * 5_000 in text and "\x1b" not in text and offered(approval) == ["allow", "deny"]
