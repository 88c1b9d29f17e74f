"""A conversation that is left while it works: it goes on without its terminal, and is taken up or stopped later."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.serving import KEY, serving
from tests.support.system.cli import environment, loopline
from tests.support.terminal.conversation import CTRL_C, CTRL_D, CTRL_Z, ENTER, WAIT_S, AgentTerminal

CALL = {"name": "shell", "arguments": {"command": "echo made > made.txt"}}
STEPS = [{"output": [{"function_call": CALL}]}, {"output": [{"text": "All of it is done."}]}]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "rollout.json").write_text(json.dumps({"steps": STEPS}))
    try:
        with serving(folder, environment(folder), "--rollout", str(folder / "rollout.json")) as served:
            yield {"OPENAI_API_KEY": KEY, "LOOPLINE_BASE_URL": f"{served.url}/v1", "LOOPLINE_MODEL": "scripted"}
    except AssertionError as error:
        if "never played" not in str(error):  # so it is when one story runs by itself
            raise


@pytest.fixture
def asking(tmp_path: Path, service: dict[str, str]) -> Iterator[AgentTerminal]:
    """A turn that asks whether it may run a command."""
    (tmp_path / "project").mkdir()
    terminal = AgentTerminal(tmp_path / "home", tmp_path / "project", "please do it", extra=service)
    terminal.until("Loopline wants to run shell")
    yield terminal
    terminal.close()


def agents(home: Path, service: dict[str, str]) -> list[dict[str, Any]]:
    done = loopline("agents", "--json", env=environment(home, **service))
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def until_gone(home: Path, service: dict[str, str]) -> None:
    give_up = time.monotonic() + WAIT_S
    while agents(home, service):
        assert time.monotonic() < give_up


def test_it_goes_on_and_is_taken_up_again(asking: AgentTerminal, tmp_path: Path, service: dict[str, str]) -> None:
    asking.press(CTRL_D)
    asking.until("A turn runs.")
    asking.press("b")
    assert asking.end() == 0 and asking.is_given_back
    assert b"loopline agents" in asking.written.replace(b"\r\n", b"")
    [agent] = agents(tmp_path / "home", service)
    assert agent["state"] == "asks" and agent["title"] == "please do it"
    os.kill(agent["pid"], 0)

    again = AgentTerminal(tmp_path / "home", tmp_path / "project", "agents", "attach", extra=service)
    try:
        again.until("Loopline wants to run shell")
        again.until("y allow")
        again.press("y")
        again.until("All of it is done.")
        assert (tmp_path / "project" / "made.txt").read_text() == "made\n"
        again.press(CTRL_D)
        assert again.end() == 0 and again.is_given_back
    finally:
        again.close()
    until_gone(tmp_path / "home", service)


def test_it_is_stopped(asking: AgentTerminal, tmp_path: Path, service: dict[str, str]) -> None:
    home = tmp_path / "home"
    asking.press(CTRL_D)
    asking.until("A turn runs.")
    asking.press("b")
    assert asking.end() == 0
    [agent] = agents(home, service)
    done = loopline("agents", "stop", agent["session"][:12], env=environment(home, **service))
    assert done.code == 0 and "what was done is kept" in done.out, done.err
    assert agents(home, service) == []
    assert loopline("agents", "stop", env=environment(home, **service)).code == 2
    assert not (tmp_path / "project" / "made.txt").exists()


def test_a_killed_conversation_leaves_the_terminal_as_it_was(asking: AgentTerminal) -> None:
    asking.kill()
    assert asking.end() == 128 + signal.SIGKILL and asking.is_given_back


def test_to_the_shell_and_back(tmp_path: Path, service: dict[str, str]) -> None:
    """With standard error in a file, as people keep it."""
    (tmp_path / "project").mkdir()
    terminal = AgentTerminal(tmp_path / "home", tmp_path / "project", extra={**service, "PS1": "shell$ "}, shell=True)
    try:
        terminal.until("shell$")
        terminal.press(f"{terminal.command} 2>errors.txt", ENTER)
        terminal.ready()
        terminal.press("some words")
        terminal.until("› some words")
        terminal.press(CTRL_Z)
        terminal.until("Stopped")
        terminal.press("fg", ENTER)
        terminal.until("› some words")
        terminal.press(" more")
        terminal.until("› some words more")
        terminal.press(CTRL_C, CTRL_D)
        terminal.until("shell$")  # which is drawn over the second screen: pyte knows one only
        assert (tmp_path / "project" / "errors.txt").read_text() == ""
    finally:
        terminal.close()
