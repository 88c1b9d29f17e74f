"""What is said beside a task: commands with a slash, the model's questions, and how full its context is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.acp.client import AcpClient, Json, agent, prompting
from tests.support.lsp.puppet import Puppet, puppet, puppet_env, steps

pytestmark = pytest.mark.timeout(300)

ASK = {"call": "ask", "args": {"question": "Which port?", "options": ["80", "8080"]}}


def said(client: AcpClient, session: str) -> str:
    return client.text(session)


async def test_commands_plan_undo_and_redo(tmp_path: Path) -> None:
    place = tmp_path / "work" / "a.txt"
    place.parent.mkdir()
    place.write_text("one\n")
    edit: Json = {"call": "edit", "args": {"path": "a.txt", "old": "one", "new": "two"}}
    async with puppet() as model, agent(puppet_env(tmp_path / "home", model)) as client:
        await client.initialize()
        session = await client.new(place.parent)
        (told,) = await client.until(lambda: client.of(session, "available_commands_update"))
        assert [each["name"] for each in told["availableCommands"]] == ["plan", "undo", "redo", "compact"]
        assert (await client.prompt(session, "/undo"))["stopReason"] == "end_turn"
        assert said(client, session) == "There is nothing to undo.\n"
        await client.prompt(session, steps(edit, {"text": "Done."}))
        assert place.read_text() == "two\n"
        for command, holds in (("/undo", "one\n"), ("/redo", "two\n"), ("/undo", "one\n")):
            assert (await client.prompt(session, command))["stopReason"] == "end_turn"
            assert place.read_text() == holds
        assert said(client, session).endswith("Restored: a.txt.\n")
        await client.prompt(session, f"/plan {steps(edit, {'text': 'A plan.'})}")
        assert place.read_text() == "one\n" and said(client, session).endswith("A plan.")
        await client.prompt(session, "/etc/hosts, what is in it?")  # no command: the model is asked
        assert model.heard[-1].startswith("/etc/hosts")


async def asked(client: AcpClient, model: Puppet, folder: Path) -> str:
    """What the model is told of its question."""
    session = await client.new(folder)
    ended = await asyncio.wait_for(client.begin("session/prompt", prompting(session, steps(ASK, {"text": "."})))[1], 60)
    assert ended["stopReason"] == "end_turn"
    return model.outputs[-1]


async def test_a_question_is_a_form_where_the_client_shows_forms(tmp_path: Path) -> None:
    content: Json = {"answer": "8080"}

    async def form(params: Json) -> Json:
        assert params["message"] == "Which port?"
        assert params["requestedSchema"]["properties"]["answer"]["enum"] == ["80", "8080"]
        return {"action": "accept", "content": content}

    async with puppet() as model, agent(puppet_env(tmp_path / "home", model)) as client:
        await client.initialize(forms=True)
        client.handlers["elicitation/create"] = form
        assert "8080" in await asked(client, model, tmp_path)
        content = {"answer": "80", "other": "any above 9000"}
        assert "any above 9000" in await asked(client, model, tmp_path)
        del client.handlers["elicitation/create"]  # the client refuses: nobody answered, and the turn goes on
        assert "80" not in await asked(client, model, tmp_path)


async def test_elsewhere_its_options_are_offered_as_permissions_are(tmp_path: Path) -> None:
    choice = "2"

    async def choose(params: Json) -> Json:
        assert [each["name"] for each in params["options"]] == ["80", "8080", "No answer"]
        return {"outcome": {"outcome": "selected", "optionId": choice}}

    async with puppet() as model, agent(puppet_env(tmp_path / "home", model)) as client:
        await client.initialize()
        client.handlers["session/request_permission"] = choose
        assert "8080" in await asked(client, model, tmp_path)
        choice = "none"
        assert "80" not in await asked(client, model, tmp_path)


async def test_how_full_the_context_is(tmp_path: Path) -> None:
    async with puppet() as model:
        env = puppet_env(tmp_path / "home", model)
        config = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("[models.puppet]\ncontext_tokens = 50000\n")
        async with agent(env) as client:
            await client.initialize()
            session = await client.new(tmp_path)
            done = await client.prompt(session, steps({"text": "Here."}))
            (call,) = done["_meta"]["loopline"]["calls"]
            (told,) = client.of(session, "usage_update")
    assert (told["used"], told["size"]) == (call["inputTokens"] + call["outputTokens"], 50_000)
