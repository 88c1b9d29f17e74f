"""`loopline run` as a process, against `loopline serve` behind a proxy that breaks connections: same files, no tool
twice, no item lost."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_core.agent.history import History
from agent_core.telemetry.events import CallCompleted, CallSent, ConnectionOpened, ToolFinished
from agent_core.telemetry.journal.reader import Feed
from tests.support.agent.faults import CALLS, FINAL, SCRIPT, call, files
from tests.support.model.fault_proxy import FaultProxy, faulty
from tests.support.service.serving import KEY, Serving, serving
from tests.support.system.cli import TIMEOUT_S, Done, environment, loopline
from tests.support.system.processes import wait_until_none

SEEDS = 10
AT_ONCE = 5


def rollout() -> dict[str, Any]:
    """The task as a file of the `scripted` engine, with reasoning before every reply."""
    steps: list[dict[str, Any]] = []
    for reply, names in enumerate(SCRIPT):
        calls = [call(reply, n) for n in range(len(names))]
        asked = [{key: each[key] for key in ("name", "arguments", "call_id")} for each in calls]
        said: list[dict[str, Any]] = [{"function_call": each} for each in asked] or [{"text": "all done"}]
        steps.append({"output": [{"reasoning": f"thought {reply}"}, *said]})
    return {"steps": steps}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "rollout.json").write_text(json.dumps(rollout()))
    with serving(folder, environment(folder / "home"), "--rollout", str(folder / "rollout.json")) as running:
        yield running


class Ran(msgspec.Struct):
    """One run: what it printed, its history without what is made anew each time, its tools and the faults."""

    done: Done
    items: list[tuple[str, ...]]
    tools: Counter[str]
    events: list[Any]
    proxy: FaultProxy


async def run(folder: Path, service: Serving, seed: int, odds: float, transport: str = "auto") -> Ran:
    home, project = folder / "home", folder / "project"
    project.mkdir(parents=True)
    env = environment(home) | {"OPENAI_API_KEY": KEY}
    async with faulty(seed, int(service.url.rpartition(":")[2]), odds=odds) as proxy:
        arguments = ["run", "do all of it", "-w", str(project), "--approve", "auto", "--json", "--model", "scripted"]
        arguments += ["--base-url", f"http://127.0.0.1:{proxy.port}/v1", "--transport", transport]
        async with asyncio.timeout(TIMEOUT_S):
            done = await asyncio.to_thread(loopline, *arguments, env=env)
    assert done.code == 0, (seed, dict(proxy.faults), done.out[-3000:], done.err)
    assert files(project) == FINAL
    assert wait_until_none(home, 5) == {}
    feed = Feed(Path(env["XDG_STATE_HOME"]) / "loopline")
    events = feed.poll()
    feed.close()
    (file,) = (Path(env["XDG_STATE_HOME"]) / "loopline" / "sessions").glob("*.jsonl")
    items = [_lasting(json.loads(raw)) for raw in History.read(file).items.raw(0)]
    tools = Counter(event.tool_call for event in events if isinstance(event, ToolFinished))
    return Ran(done, items, tools, events, proxy)


def _lasting(item: dict[str, Any]) -> tuple[str, ...]:
    """An item without the ids that the service makes anew."""
    said = item.get("content") or item.get("summary") or ""
    fields = (item["type"], item.get("role", ""), item.get("call_id", ""), item.get("arguments", ""))
    return (*fields, str(item.get("output", "")), json.dumps(said))


def _once() -> Counter[str]:
    return Counter(f"call_{reply}_{n}" for reply, names in enumerate(SCRIPT) for n in range(len(names)))


@pytest.fixture(scope="module")
def clean(service: Serving, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    ran = asyncio.run(run(tmp_path_factory.mktemp("clean"), service, 0, 0.0))
    summary = ran.done.summary
    assert (summary["calls"], summary["connections"], summary["full_resends"]) == (CALLS, 1, 0)
    assert ran.tools == _once()
    return ran


def _check(ran: Ran, clean: Ran) -> None:
    assert ran.items == clean.items
    assert ran.tools == _once()
    assert ran.proxy.faults.total() > 0
    summary = ran.done.summary
    assert (summary["status"], summary["calls"]) == ("completed", CALLS)
    assert summary["bytes_up"] == sum(event.bytes_up for event in ran.events if isinstance(event, CallSent))
    assert summary["connections"] == sum(isinstance(event, ConnectionOpened) for event in ran.events)
    ended = [event.status for event in ran.events if isinstance(event, CallCompleted)]
    assert ended.count("completed") >= CALLS


@pytest.mark.timeout(300)
async def test_ten_processes_over_a_broken_network(tmp_path: Path, service: Serving, clean: Ran) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> Ran:
        async with gate:
            return await run(tmp_path / str(seed), service, seed, 1.0, "http" if seed == SEEDS - 1 else "auto")

    faults = Counter[str]()
    for ran in await asyncio.gather(*(one(seed) for seed in range(SEEDS))):
        _check(ran, clean)
        faults += ran.proxy.faults
    print(f"{SEEDS} processes, {faults.total()} faults on the wire: {dict(sorted(faults.items()))}")


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_a_hundred_processes_over_a_broken_network(tmp_path: Path, service: Serving, clean: Ran) -> None:
    for seed in range(100, 200):
        ran = await run(tmp_path / str(seed), service, seed, 1.0)
        _check(ran, clean)
        print(f"seed {seed}: {ran.proxy.faults.total()} faults {dict(sorted(ran.proxy.faults.items()))}")
