"""What telemetry costs: per event, per delta, and as a share of a stream of 4,000 tokens/s."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent_core.bench.emit_cost import TOKENS_PER_S, measure_emit_cost
from agent_core.bench.figures import Figure
from agent_core.clock import Clock
from agent_core.model.timing import CallTimer, Pace
from agent_core.telemetry.emitter import Emitter


def stream(emitter: Emitter, clock: Clock, deltas: int, step_ns: int) -> None:
    """One call as the model port times it, a frame at a time."""
    timer = CallTimer(clock, emitter, Pace(), {"session": "s", "turn": "t", "call": "stream"})
    timer.sent(
        clock.mono_ns(),
        model="bench",
        transport="websocket",
        reuse="first",
        input_items=1,
        size=10,
        size_full=10,
        warmup=False,
        connection="c",
        lane=None,
    )
    for _ in range(deltas):
        timer.batch([b""])
        timer.delta("text", 4)
        timer.settle()
    timer.ended("completed", timer.timing())


def measure() -> Iterator[Figure]:
    """CPU times of this process; a loss of events would void them, so it is a figure as well."""
    with tempfile.TemporaryDirectory(prefix="loopline-bench-") as folder:
        cost = measure_emit_cost(Path(folder), stream)
    yield Figure(name="emit one event (caller's thread)", value=cost.emit_us, unit="µs", runs=cost.events)
    yield Figure(
        name="emit one event (with writing)",
        value=cost.event_us,
        unit="µs",
        against="caller's thread alone",
        ratio=cost.event_us / cost.emit_us,
        runs=cost.events,
    )
    yield Figure(name="telemetry per delta", value=cost.delta_us, unit="µs", runs=TOKENS_PER_S)
    yield Figure(
        name=f"telemetry of {TOKENS_PER_S:,} tokens/s", value=cost.stream_share * 100, unit="% of a core", runs=1
    )
    yield Figure(name="events lost while measuring", value=cost.lost, unit="events", runs=cost.events)
