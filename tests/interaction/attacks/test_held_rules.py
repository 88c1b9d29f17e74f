"""An agent that takes the rules away which hold it: within its session they hold, whatever becomes of the files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_core.agent.approvals.policy import Policy
from agent_core.hosting.session import HostOptions, host_session
from agent_core.tools.sandbox.sandbox import find_sandbox
from agent_core.turns.events import Notice, TurnEvent
from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Json, stdio
from tests.support.lsp.puppet import puppet, puppet_env, steps
from tests.support.suite.parts import lacking
from tests.support.system.cli import environment, loopline
from tests.support.tools.toolbox import Bench

HIDDEN = "the closed words"
RULES = 'deny = ["touch *"]\n'


def shell(command: str) -> Json:
    return {"call": "shell", "args": {"command": command}}


ATTACK = [
    # Long enough for the settings to be read again.
    shell("rm .loopline/config.toml; : > .looplineignore; for i in $(seq 30); do sleep 0.1; done; echo gone"),
    shell("touch ran"),
    {"call": "read", "args": {"path": "closed/notes.txt"}},
    {"call": "search", "args": {"pattern": "closed w"}},
    {"call": "search", "args": {"pattern": "(closed|x)+ w[a-z]+s"}},
    {"call": "list", "args": {"depth": 3}},
    {"call": "edit", "args": {"path": "closed/notes.txt", "old": HIDDEN, "new": "x"}},
    {"text": "done"},
]
LATER = [
    shell("touch ran"),
    {"call": "read", "args": {"path": "sub/own.tok"}},
    {"text": "done"},
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in {
        ".loopline/config.toml": RULES, ".looplineignore": "closed/\n", "closed/notes.txt": HIDDEN,
        "sub/.looplineignore": "*.tok\n", "sub/own.tok": HIDDEN, "other.txt": "open\n",
    }.items():  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def user_settings(env: dict[str, str]) -> None:
    """Nothing but the rules holds the agent back."""
    file = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('approve = "auto"\nsandbox = "off"\n')


def check(project: Path, outputs: list[str]) -> None:
    assert "gone" in outputs[0] and not (project / ".looplineignore").read_text()
    assert not (project / "ran").exists() and "deny rule" in outputs[1]
    assert not [text for text in outputs if HIDDEN in text]
    assert "notes.txt" not in outputs[5] and "other.txt" in outputs[5]
    assert (project / "closed/notes.txt").read_text() == HIDDEN


async def test_through_run(tmp_path: Path, project: Path) -> None:
    async with puppet() as model:
        env = dict(puppet_env(tmp_path / "home", model))
        user_settings(env)
        done = await asyncio.to_thread(loopline, "run", steps(*ATTACK), "-w", str(project), env=env)
        assert done.code == 0, done.err
        check(project, model.outputs)


async def test_through_an_editor_and_in_its_later_turns(tmp_path: Path, project: Path) -> None:
    async with puppet() as model:
        env = dict(puppet_env(tmp_path / "home", model))
        user_settings(env)
        async with stdio(env) as plain:
            client = with_answers(plain)
            await client.initialize(project)
            await client.turn(steps(*ATTACK))
            check(project, model.outputs)
            # What an editor's settings change opens the session anew; it stays the same session.
            (project / "sub/.looplineignore").unlink()
            await client.notify("workspace/didChangeConfiguration", {"settings": {"loopline": {"model": "puppet"}}})
            await client.turn(steps(*LATER))
        assert "deny rule" in model.outputs[-2] and "closed to tools" in model.outputs[-1]
        assert not (project / "ran").exists()


async def test_in_the_sandbox_too(tmp_path: Path, project: Path) -> None:
    found = find_sandbox(environment(tmp_path))
    if not found.namespaces:
        lacking("bwrap", "nor namespaces")
    bench = Bench(project, environment=environment(tmp_path / "home"), sandbox=found)
    await bench.workspace.hold()
    for name in (".looplineignore", "sub/.looplineignore"):
        (project / name).write_text("")
    for path in ("closed/notes.txt", "sub/own.tok"):
        assert HIDDEN not in (await bench.run("shell", command=f"cat {path}")).output
    assert (await bench.refused("read", path="sub/own.tok")).startswith("closed: ")


@pytest.mark.parametrize("before", ["as it was", "loosened by somebody"])
async def test_an_edit_that_a_person_agrees_to_counts_if_nothing_was_loosened_before(
    tmp_path: Path, project: Path, before: str
) -> None:
    """Else an edit that looks harmless would bring in what a command had changed."""
    told: list[TurnEvent] = []
    env = environment(tmp_path / "home")
    options = HostOptions(roots=(project,), client="test", flags={"model": "scripted"}, env=env)
    rules, ignored = project / ".loopline/config.toml", project / ".looplineignore"

    def policy() -> Policy:
        return hosted.session._parts.terms.policy

    async with host_session(options, observer=told.append) as hosted:
        workspace = hosted.workspace
        if before != "as it was":
            rules.write_text("")
            ignored.write_text("")
        with workspace.permitting([".loopline/config.toml", ".looplineignore"]):
            rules.write_text('project = "mine"\n')
            ignored.write_text("nothing\n")
        outcome = policy().decide("command", "shell", "touch x").outcome
        closed = workspace.held.closed(str(project), "closed/notes.txt")
    assert (outcome, closed) == (("ask", False) if before == "as it was" else ("deny", True))
    assert before == "as it was" or any(isinstance(each, Notice) and "loosened" in each.text for each in told)
