"""`kill -9` of the agent at random moments: resumed, it comes to the same result, and no tool call ran twice."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent.history import History
from agent_core.telemetry.events import ToolStarted
from agent_core.telemetry.journal.reader import Feed
from tests.support.agent.faults import files
from tests.support.model import events as make
from tests.support.model.faults import FaultyService
from tests.support.model.scripted_service import running
from tests.support.system.cli import TIMEOUT_S, environment, loopline, started
from tests.support.system.processes import wait_until_none

Json = dict[str, Any]

STEPS = 20
LINES_OF_A_RUN = 2 * STEPS + 4
"""About how many lines a run prints; the moments are drawn from them."""

FINAL = {
    "work.txt": "".join(f"line {n}\n" for n in range(6)) + "step 6\n",
    **{f"{n}.txt": f"{n}\n" for n in range(STEPS) if n % 3 == 1},
}


RUNS = ".runs"
"""In the project: each command leaves its call's id there, whatever becomes of the agent."""


class Steps:
    """Asks for one tool after the other; a step whose output says that it was interrupted is asked for again, under
    another id. Each step does no harm when it has taken effect before."""

    def __init__(self) -> None:
        self._ids = 0

    def answer(self, items: list[Json]) -> list[Json]:
        outputs = {item["call_id"]: item["output"] for item in items if item["type"] == "function_call_output"}
        tries = Counter(call_id.split("_")[1] for call_id in outputs)
        done = {call_id.split("_")[1] for call_id, text in outputs.items() if not text.startswith("interrupted")}
        step = len(done)
        self._ids += 1
        thought = make.reasoning(item_id=f"rs_{self._ids}")
        if step == STEPS:
            return make.ladder(f"resp_{self._ids}", thought, make.message("all done", f"msg_{self._ids}"))
        call_id = f"call_{step}_{tries[str(step)]}"
        name, arguments = self._step(step, call_id)
        call = make.tool_call(call_id, name=name, arguments=json.dumps(arguments))
        return make.ladder(f"resp_{self._ids}", thought, call)

    def _step(self, step: int, call_id: str) -> tuple[str, Json]:
        n = step // 3
        if step == 0:
            return "edit", {"path": "work.txt", "old": "", "new": "step 0\n"}
        if step % 3 == 0:
            return "edit", {"path": "work.txt", "old": f"step {n - 1}\n", "new": f"line {n - 1}\nstep {n}\n"}
        if step % 3 == 1:
            return "shell", {"command": f"echo {call_id} >> {RUNS}; echo {step} > {step}.txt"}
        return "read", {"path": "work.txt"}


class KilledService(FaultyService):
    """Never fails by itself."""

    def __init__(self) -> None:
        super().__init__(0, STEPS, 0.0)
        self._rollout = Steps()


def _kill(arguments: list[str], env: dict[str, str], moment: random.Random) -> int:
    """Start the agent and kill it after a drawn number of lines and a little longer; its exit code."""
    process = started(*arguments, env=env)
    assert process.stdout is not None
    for _ in range(moment.randrange(LINES_OF_A_RUN)):
        if not process.stdout.readline():
            break
    try:
        process.wait(timeout=moment.random() * 0.02)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate(timeout=20)
    return int(process.returncode)


async def survive(folder: Path, seed: int) -> str:
    """One task, killed and resumed until it is done; how often it was killed in words."""
    home, project = folder / "home", folder / "project"
    project.mkdir(parents=True)
    env = environment(home) | {"OPENAI_API_KEY": "sk-test"}
    moment = random.Random(seed)
    sessions = Path(env["XDG_STATE_HOME"]) / "loopline" / "sessions"
    service = KilledService()
    async with running(then=service.socket) as scripted, asyncio.timeout(TIMEOUT_S):
        common = ["-w", str(project), "--approve", "auto", "--json", "--model", "m", "--base-url", scripted.base_url]
        code = await asyncio.to_thread(_kill, ["run", "do all of it", *common], env, moment)
        found = list(sessions.glob("*.jsonl"))
        going_on = ["--resume", found[0].stem] if found and found[0].stat().st_size else []
        if code != 0 and moment.random() < 0.3 and going_on:
            code = await asyncio.to_thread(_kill, ["run", "go on", *common, *going_on], env, moment)
        done = await asyncio.to_thread(loopline, "run", "go on", *common, *going_on, env=env)
    assert done.code == 0, (seed, done.out[-2000:], done.err)
    assert scripted.violations == []
    assert {name: text for name, text in files(project).items() if not name.startswith(".")} == FINAL
    assert wait_until_none(home, 5) == {}
    _check_history(History.read(max(sessions.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)))
    ran = Counter((project / RUNS).read_text().split())
    assert set(ran.values()) == {1} and len(ran) >= STEPS // 3, ran
    feed = Feed(sessions.parent)
    started_calls = Counter(event.tool_call for event in feed.poll() if isinstance(event, ToolStarted))
    feed.close()
    # At most: the journal of a process that was killed lacks its last moments.
    assert set(started_calls.values()) <= {1}, started_calls
    return "not at all" if code == 0 else f"with {len(going_on) // 2} sessions to resume"


def _check_history(history: History) -> None:
    """Each call has one output, right behind what the model said; turns that were cut off are called so."""
    items = [json.loads(raw) for raw in history.items.raw(0)]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    outputs = [item["call_id"] for item in items if item["type"] == "function_call_output"]
    assert calls == outputs and len(set(calls)) == len(calls)
    statuses = [record.status for record in history.turns]
    assert statuses[-1] == "completed" and set(statuses[1::2]) <= {"completed", "interrupted"}
    assert set(statuses[::2]) == {"started"}


@pytest.mark.parametrize("seed", range(5))
async def test_killed_and_resumed_it_comes_to_the_same_result(tmp_path: Path, seed: int) -> None:
    await survive(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_killed_at_a_hundred_moments(tmp_path: Path) -> None:
    for seed in range(100, 200):
        print(f"kill -9 seed {seed}: killed {await survive(tmp_path / str(seed), seed)}", flush=True)
