"""Measures what emitting costs, for benchmarks: per event, and as a share of a fast stream.

Real parts throughout: emitter, journal thread, SQLite file. CPU time is that of the whole process, so what the writer
thread does is in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from agent_core.clock import Clock, SystemClock
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import CallSent
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.source import new_source

TOKENS_PER_S = 4_000

Stream = Callable[[Emitter, Clock, int, int], None]
"""Times and tells one streamed call as the product does: `stream(emitter, clock, deltas, step_ns)`. It reads the
clock for its stamps, which moves on by `step_ns` at each reading, and gets through `deltas` deltas."""


class EmitCost(msgspec.Struct, frozen=True):
    """`emit_us`: CPU of the emitting thread per event. `event_us`: of the whole process per event, writing included.

    `delta_us`: CPU of the process per delta of a stream of `TOKENS_PER_S` tokens/s, one token a delta, all events
    of its call included. `stream_share`: the same as a share of one core while the stream runs. `lost` must be 0
    for the figures to count.
    """

    events: int
    emit_us: float
    event_us: float
    delta_us: float
    stream_share: float
    lost: int


class _SteppingClock(SystemClock):
    """A monotonic clock that moves on by a fixed step at each reading, so that a stream needs no waiting."""

    def __init__(self, step_ns: int) -> None:
        self._step_ns, self._now_ns = step_ns, 0

    def mono_ns(self) -> int:
        self._now_ns += self._step_ns
        return self._now_ns


def measure_emit_cost(state_dir: Path, stream: Stream, *, events: int = 20_000, stream_s: float = 5.0) -> EmitCost:
    """Writes a journal into `state_dir`. Takes about a second; alone on the machine is best."""
    source = new_source()
    sink = JournalSink(state_dir, source)
    emitter = Emitter(sink, SystemClock(), source)
    try:
        emitter.emit(_sent("warm-up"))
        sink.flush(10)
        whole, own = time.process_time(), time.thread_time()
        for number in range(events):
            emitter.emit(_sent(f"call_{number}"))
            if number % 1_000 == 0:
                sink.flush(10)
        own = time.thread_time() - own
        sink.flush(10)
        whole = time.process_time() - whole

        deltas, step_ns = int(stream_s * TOKENS_PER_S), 1_000_000_000 // TOKENS_PER_S
        streaming = time.process_time()
        stream(emitter, _SteppingClock(step_ns), deltas, step_ns)
        sink.flush(10)
        streaming = time.process_time() - streaming
    finally:
        sink.close(10)
    return EmitCost(
        events=events,
        emit_us=own / events * 1e6,
        event_us=whole / events * 1e6,
        delta_us=streaming / deltas * 1e6,
        stream_share=streaming / stream_s,
        lost=sink.lost + sink.dropped,
    )


def _sent(call: str) -> CallSent:
    return CallSent(
        session="sess_000000000000000000000000",
        turn="turn_000000000000000000000000",
        call=call,
        connection="conn_000000000000000000000000",
        model="gpt-5",
        transport="websocket",
        attempt=1,
        reuse="reused",
        input_items=2,
        bytes_up=4_000,
    )
