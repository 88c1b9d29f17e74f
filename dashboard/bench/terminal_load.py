"""Measures the terminal dashboard under load, in a process of its own: how long it keeps its loop busy, what memory and
CPU it takes. `measure_apart("under_load", …)` starts that process.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine
from datetime import UTC
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from agent_core import launch
from agent_core.bench.figures import rank
from agent_core.collector import calm_collector
from agent_core.process_cost import rss_bytes
from agent_core.variables import variables
from dashboard.feed import EventFeed, JournalFollower
from dashboard.tui.app import Dashboard

LAG_STEP_S = 0.01


class Load(msgspec.Struct, kw_only=True):
    """What a run came to. Lags are in ms: `own` of CPU time the loop's thread spent before it came back to a waiting
    task, `wall` with what the machine did meanwhile."""

    events: int
    emitted: int
    own_lag_ms: float
    own_lag_p99_ms: float
    wall_lag_ms: float
    rss_growth_mb: float
    cpu_share: float
    """CPU time of the process over wall time."""
    widgets: int


async def under_load(state_dir: Path, *, rate: int, seconds: float) -> Load:
    """The dashboard follows the journal that another process writes at `rate` events a second."""
    app = journal_dashboard(state_dir)
    own: list[float] = []
    wall: list[float] = []
    calm_collector()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f")
        watching = asyncio.create_task(_watch(own, wall))
        writer = await launch.start(
            launch.own_module("dashboard.bench.journal_writer", str(state_dir), str(rate), str(seconds)),
            environment=launch.own_environment(variables()),
            stdout=asyncio.subprocess.PIPE,
        )
        cpu, started = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds / 2)
        gc.collect()
        early_mb = rss_bytes("self") / 1e6
        output, _ = await writer.communicate()
        cpu_share = (time.process_time() - cpu) / (time.monotonic() - started)
        emitted, dropped, lost = map(int, output.split())
        async with asyncio.timeout(30):
            while app.desk.state.events < emitted - dropped - lost:  # noqa: ASYNC110  the state tells nobody
                await asyncio.sleep(0.05)
        gc.collect()
        growth = rss_bytes("self") / 1e6 - early_mb
        watching.cancel()
        await asyncio.wait([watching])
        return Load(
            events=app.desk.state.events,
            emitted=emitted - dropped - lost,
            own_lag_ms=max(own),
            own_lag_p99_ms=rank(own, 0.99),
            wall_lag_ms=max(wall),
            rss_growth_mb=growth,
            cpu_share=cpu_share,
            widgets=len(list(app.screen.query("*"))),
        )


async def idle(state_dir: Path, *, seconds: float) -> Idle:
    """A dashboard to which nothing happens."""
    app = journal_dashboard(state_dir)
    async with app.run_test(size=(120, 40)):
        await asyncio.sleep(0.5)
        cpu, started = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds)
        return Idle(cpu_share=(time.process_time() - cpu) / (time.monotonic() - started))


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    cpu_share: float


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds until something is on screen, until all is folded, and the CPU time that took."""

    first_s: float
    all_s: float
    cpu_s: float


async def opening(state_dir: Path, *, since: str, events: int) -> Opening:
    """How long the dashboard takes to open a folder of which the days `since` hold `events` events."""
    started, cpu = time.monotonic(), time.process_time()
    app = journal_dashboard(state_dir, since)
    first = 0.0
    async with app.run_test(size=(120, 40)), asyncio.timeout(600):
        while app.desk.state.events < events:
            await asyncio.sleep(0.02)
            if not first and app.desk.turn is not None:
                first = time.monotonic() - started
        assert app.desk.state.events == events
    return Opening(first_s=first, all_s=time.monotonic() - started, cpu_s=time.process_time() - cpu)


def journal_dashboard(state_dir: Path, since: str = "") -> Dashboard:
    def open_feed(days: int) -> EventFeed:
        return JournalFollower(state_dir, since=since)

    return Dashboard(open_feed, zone=UTC)


async def _watch(own: list[float], wall: list[float]) -> None:
    while True:
        before_cpu, before = time.thread_time(), time.monotonic()
        await asyncio.sleep(LAG_STEP_S)
        own.append((time.thread_time() - before_cpu) * 1000)
        wall.append((time.monotonic() - before - LAG_STEP_S) * 1000)


_MEASURES: dict[str, Callable[..., Coroutine[Any, Any, Load | Idle | Opening]]] = {
    "under_load": under_load,
    "idle": idle,
    "opening": opening,
}
Measured = TypeVar("Measured", Load, Idle, Opening)


async def measure_apart(kind: type[Measured], name: str, state_dir: Path, **options: object) -> Measured:
    """Run one of the above in a fresh process, whose collector has nothing else to look through."""
    told = msgspec.json.encode(options).decode()
    process = await launch.start(
        launch.own_module("dashboard.bench.terminal_load", name, str(state_dir), told),
        environment=launch.own_environment(variables(), TEXTUAL_ANIMATIONS="none"),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return msgspec.json.decode(output, type=kind)


if __name__ == "__main__":
    found = asyncio.run(_MEASURES[sys.argv[1]](Path(sys.argv[2]), **msgspec.json.decode(sys.argv[3])))
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
