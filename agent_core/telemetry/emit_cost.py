"""Measures what emitting costs, for benchmarks: per event, and as a share of a fast stream.

Real parts throughout: emitter, journal thread, SQLite file. CPU time is that of the whole process, so what the
writer thread does is in it.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from agent_core.clock import SystemClock
from agent_core.telemetry.calltimer import CallTimer
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import CallCompleted, CallFirstDelta, CallProgress, CallSent
from agent_core.telemetry.journal import JournalSink
from agent_core.telemetry.source import new_source

TOKENS_PER_S = 4_000


class EmitCost(msgspec.Struct, frozen=True):
    """`emit_us`: CPU of the emitting thread per event. `event_us`: of the whole process per event, writing included.

    `delta_us`: CPU per delta of a stream of `TOKENS_PER_S` tokens/s, one token a delta, all of a call's events
    included. `stream_share`: the same as a share of one core while the stream runs. `lost` must be 0 for the
    figures to count.
    """

    events: int
    emit_us: float
    event_us: float
    delta_us: float
    stream_share: float
    lost: int


def measure_emit_cost(state_dir: Path, *, events: int = 20_000, stream_s: float = 5.0) -> EmitCost:
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

        stream = time.process_time()
        deltas = _stream(emitter, stream_s)
        sink.flush(10)
        stream = time.process_time() - stream
    finally:
        sink.close(10)
    return EmitCost(
        events=events,
        emit_us=own / events * 1e6,
        event_us=whole / events * 1e6,
        delta_us=stream / deltas * 1e6,
        stream_share=stream / stream_s,
        lost=sink.lost + sink.dropped,
    )


def _stream(emitter: Emitter, seconds: float) -> int:
    """What the model port does for one streamed call, on stamps of a stream that takes `seconds`; gives the deltas."""
    deltas = int(seconds * TOKENS_PER_S)
    step_ns = 1_000_000_000 // TOKENS_PER_S
    emitter.emit(_sent("stream"))
    timer = CallTimer(0)
    for number in range(1, deltas + 1):
        now_ns = number * step_ns
        first = timer.delta("text", 4, now_ns)
        if first is not None:
            emitter.emit(
                CallFirstDelta(call="stream", latency_ms=first.latency_ms, channel=first.channel, ttft_ms=first.ttft_ms)
            )
        sample = timer.progress(now_ns)
        if sample is not None:
            emitter.emit(
                CallProgress(call="stream", output_tokens_est=sample.output_tokens_est, rate_est=sample.rate_est)
            )
    timing = timer.finish(deltas * step_ns)
    emitter.emit(
        CallCompleted(
            call="stream",
            status="completed",
            duration_ms=timing.duration_ms,
            ttft_ms=timing.ttft_ms,
            deltas=timing.deltas,
            chunk_gaps=timing.chunk_gaps,
        )
    )
    return deltas


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
