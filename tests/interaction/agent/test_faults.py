"""The agent at work over a service that breaks in every way: same files, no tool twice, no item lost.

Everything is real but the service and the clock: sessions, tools, files and sockets; pauses are jumps of the clock.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent.limits import Limits
from agent_core.telemetry import events as ev
from tests.support.agent.faults import CALLS, FINAL, SCRIPT, FaultyTask, files
from tests.support.agent.session import working
from tests.support.model.scripted_service import Refuse, running

SEEDS = 25
ODDS = 0.3


async def task(folder: Path, seed: int, odds: float) -> tuple[list[dict[str, Any]], FaultyTask, list[ev.Event]]:
    """One run of the task; its conversation, the service with its faults, and the telemetry.

    Every fifth run begins over HTTP and comes back to WebSocket. Between calls the clock may jump, so that connections
    come of age: the limit of 60 minutes, compressed. Eight tries, since nine faults in a row are beyond these seeds.
    """
    service = FaultyTask(seed, odds)
    first = [Refuse(426)] if odds and seed % 5 == 0 else []
    die = random.Random(seed)
    patience: dict[str, Any] = {"websocket_again_after_s": 900, "reconnect_limit": 8}
    if odds:
        patience["silence_limit_s"] = 0.1
    async with (
        running(*first, then=service.socket, then_post=service.post) as scripted,
        working(scripted.base_url, folder, limits=Limits(wall_s=0), **patience) as work,
    ):

        async def age() -> None:
            if odds:
                work.clock.jump(die.choice((0, 0, 600, 1500)))

        work.toolbox.before = age
        outcome = await work.session.run_turn("do all of it")
        assert outcome.status == "completed", outcome
        assert files(folder / "project") == FINAL
        assert work.toolbox.runs == {f"call_{r}_{n}": 1 for r, names in enumerate(SCRIPT) for n in range(len(names))}
    return work.items, service, work.sink.events


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The conversation of the run without faults."""
    items, service, events = asyncio.run(task(tmp_path_factory.mktemp("clean"), 0, 0.0))
    sent = [event for event in events if isinstance(event, ev.CallSent)]
    assert [event.reuse for event in sent] == ["first", *["reused"] * CALLS]
    assert service.faults.total() == 0
    return items


async def survive(folder: Path, seed: int, expected: list[dict[str, Any]]) -> FaultyTask:
    """One run over the faults of `seed` has the conversation of the run without faults, item for item."""
    items, service, events = await task(folder / str(seed), seed, ODDS)
    assert items == expected
    ends = [event for event in events if isinstance(event, ev.CallCompleted)]
    warm_ups = {event.call for event in events if isinstance(event, ev.CallSent) and event.warmup}
    assert [end.status for end in ends if end.call not in warm_ups] == ["completed"] * CALLS
    assert service.faults.total() > 0
    return service


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_the_task_over_faults_is_the_task_without_them(
    tmp_path: Path, seed: int, expected: list[dict[str, Any]]
) -> None:
    await survive(tmp_path, seed, expected)


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_five_hundred_tasks_over_faults(tmp_path: Path, expected: list[dict[str, Any]]) -> None:
    faults = Counter[str]()
    for seed in range(500):
        faults += (await survive(tmp_path, seed, expected)).faults
    print(f"500 tasks of {CALLS} calls: {faults.total()} faults injected: {dict(sorted(faults.items()))}")
