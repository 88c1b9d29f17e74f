"""A crowd of agents and browsers against `loopline web` in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from agent_core import launch
from agent_core.bench.figures import Figure
from agent_core.errors import StateError
from agent_core.ready_file import wait_ready
from agent_core.variables import variables
from dashboard.bench.crowd import Result, run_load

AGENTS, STREAMS, SECONDS = 1_000, 50, 30.0
START_S = 30.0
"""Until the hub listens."""


def measure() -> Iterator[Figure]:
    """Two events a second of each agent, while each browser follows all of them."""
    with tempfile.TemporaryDirectory(prefix="loopline-bench-") as folder:
        result = asyncio.run(_run(Path(folder)))
    about = f"{result.agents:,} agents, {result.streams} streams, {result.seconds:.0f} s"
    due = AGENTS * 2.0
    rate = result.events / result.seconds
    yield Figure(
        name="hub: events taken", value=rate, unit="events/s", against="asked for", ratio=rate / due, note=about
    )
    yield Figure(name="hub: pushes refused", value=result.refused, unit="pushes", runs=result.pushes)
    yield Figure(name="hub: ingest p50", value=result.ingest_p50_ms, unit="ms", runs=result.pushes)
    yield Figure(
        name="hub: ingest p99", value=result.ingest_p99_ms, unit="ms", runs=result.pushes,
        against="its p50", ratio=result.ingest_p99_ms / result.ingest_p50_ms,
    )  # fmt: skip
    yield Figure(name="hub: from push to a browser, p50", value=result.lag_p50_ms, unit="ms", runs=result.lags)
    yield Figure(name="hub: from push to a browser, p99", value=result.lag_p99_ms, unit="ms", runs=result.lags)
    yield Figure(name="hub: memory", value=result.rss_mb, unit="MB")
    yield Figure(name="hub: CPU", value=result.cpu_s / result.seconds * 100, unit="% of a core")


async def _run(folder: Path) -> Result:
    async with hub_process(folder) as ready:
        return await run_load(
            ready["url"], ready["ingest_token"], ready["secret"], ready["pid"],
            agents=AGENTS, streams=STREAMS, seconds=SECONDS,
        )  # fmt: skip


@contextlib.asynccontextmanager
async def hub_process(folder: Path) -> AsyncIterator[dict[str, Any]]:
    """What a hub on a free port says of itself; its state is in `folder`. Ended on the way out."""
    ready = folder / "web.ready"
    process = await launch.start(
        launch.own_module("agent_core", "web", "--port", "0", "--ready-file", str(ready)),
        environment=launch.own_environment(variables(), XDG_STATE_HOME=str(folder)),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        listening = await wait_ready(process, ready, START_S)
        if listening is None:
            raise StateError("the hub did not start", hint="see `loopline web --port 0`")
        yield json.loads(listening)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
