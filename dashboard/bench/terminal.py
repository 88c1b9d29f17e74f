"""The terminal dashboard while thousands of events a second come, against one to which nothing happens."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent_core.bench.figures import Figure
from dashboard.bench.terminal_load import Idle, Load, measure_apart

RATE, SECONDS = 5_000, 20.0


def measure() -> Iterator[Figure]:
    idle, load = asyncio.run(_run())
    about = f"{load.events:,} events in {SECONDS:.0f} s"
    yield Figure(name="terminal: idle CPU", value=idle.cpu_share * 100, unit="% of a core")
    yield Figure(
        name="terminal: CPU under load", value=load.cpu_share * 100, unit="% of a core",
        against="idle", ratio=load.cpu_share / idle.cpu_share, note=about,
    )  # fmt: skip
    yield Figure(name="terminal: longest pause, wall", value=load.wall_lag_ms, unit="ms", note=about)
    yield Figure(name="terminal: longest pause, own CPU", value=load.own_lag_ms, unit="ms", note=about)
    yield Figure(name="terminal: growth in the second half", value=load.rss_growth_mb, unit="MB", note=about)


async def _run() -> tuple[Idle, Load]:
    with tempfile.TemporaryDirectory(prefix="loopline-bench-") as name:
        folder = Path(name)
        idle = await measure_apart(Idle, "idle", folder / "idle", seconds=5)
        load = await measure_apart(Load, "under_load", folder / "load", rate=RATE, seconds=SECONDS)
    return idle, load
