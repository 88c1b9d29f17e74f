"""Ctrl-C and kill -9 at any moment: no process left, files whole, history and journal readable, and a way to go on."""

from __future__ import annotations

import ast
import asyncio
import json
import random
import signal
import subprocess
from pathlib import Path

import pytest

from agent_core.agent.history import History
from agent_core.demo.sample import SAMPLE, TASK, copy_to, run_tests
from agent_core.telemetry.events import TurnFinished
from agent_core.telemetry.journal.reader import Feed
from tests.support.suite.leftovers import processes_of
from tests.support.system.cli import environment, loopline, started, tree
from tests.support.system.processes import wait_until_none

LINES_OF_A_RUN = 60
"""About how many lines a whole run prints; moments are drawn from them."""


def _read_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    while len(lines) < count and (line := process.stdout.readline()):
        lines.append(line)
    return lines


def _files_are_whole(project: Path) -> None:
    """Every file is as shipped, or Python that parses and differs from it in a few whole lines only."""
    shipped, found = tree(SAMPLE), tree(project)
    assert found.keys() == shipped.keys()
    for name, data in found.items():
        if data != shipped[name]:
            ast.parse(data)
            old, new = shipped[name].splitlines(), data.splitlines()
            assert sum(a != b for a, b in zip(old, new, strict=True)) <= 2, name


def _history(state: Path) -> History | None:
    files = list((state / "loopline" / "sessions").glob("*.jsonl"))
    assert len(files) <= 1
    return History.load(files[0]) if files else None


def _interrupt(folder: Path, seed: int) -> str:
    """Interrupt one run at a moment drawn by `seed`; returns how it ended."""
    moment = random.Random(seed)
    home, project = folder / "home", copy_to(folder / "project")
    env = environment(home)
    process = started("run", TASK, "-w", str(project), "--approve", "auto", "--json", env=env)
    lines = _read_lines(process, moment.randrange(LINES_OF_A_RUN))
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=60)
    assert wait_until_none(home, 5) == {}
    assert "Traceback" not in err, err
    _files_are_whole(project)
    output = "".join(lines) + rest
    if process.returncode in (130, -signal.SIGINT) and not output:
        return "before the start"
    summary = json.loads(output.splitlines()[-1])
    assert summary["type"] == "summary", err
    assert (process.returncode, summary["status"]) in {(130, "cancelled"), (0, "completed")}
    state = Path(env["XDG_STATE_HOME"])
    feed = Feed(state / "loopline")
    ends = [event.status for event in feed.poll() if isinstance(event, TurnFinished)]
    feed.close()
    history = _history(state)
    turns = [record.status for record in history.turns] if history else []
    assert ends == [status for status in turns if status != "started"]
    return str(summary["status"])


@pytest.mark.parametrize("seed", range(6))
def test_ctrl_c_at_any_moment(tmp_path: Path, seed: int) -> None:
    _interrupt(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ctrl_c_at_a_hundred_moments(tmp_path: Path) -> None:
    for seed in range(100, 200):
        print(f"ctrl-c seed {seed}: {_interrupt(tmp_path / str(seed), seed)}")


@pytest.mark.parametrize("seed", range(3))
def test_kill_9_ends_the_service_and_the_session_goes_on(tmp_path: Path, seed: int) -> None:
    home, project = tmp_path / "home", copy_to(tmp_path / "project")
    env = environment(home)
    process = started("run", TASK, "-w", str(project), "--approve", "auto", "--json", env=env)
    _read_lines(process, random.Random(seed).randrange(4, LINES_OF_A_RUN - 20))
    assert any("serve" in command for command in processes_of(home).values())
    process.kill()
    process.communicate(timeout=10)
    left = {pid: command for pid, command in wait_until_none(home, 2).items() if "serve" in command}
    assert left == {}
    _files_are_whole(project)
    history = _history(Path(env["XDG_STATE_HOME"]))
    assert history is not None
    resumed = loopline(
        "run", TASK, "-w", str(project), "--approve", "auto", "--json", "--resume", history.header.id, env=env
    )
    assert resumed.code == 0, resumed.out[-1500:]
    assert asyncio.run(run_tests(project)).ok
