"""A process that writes a journal at a steady rate: `python -m dashboard.bench.journal_writer STATE_DIR EVENTS_PER_S
SECONDS`. Prints how many events it emitted.

The events are those of turns that go on at once in several sessions, sixteen calls each with progress samples and
tools, as a busy machine would write them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_core.clock import SystemClock
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.source import new_source

SESSIONS = 8
STAGES = {"api_overhead": 10.0, "inference": 60.0, "client_tool": 30.0, "approval": 0.0, "client_other": 0.0}


def turn(session: str, number: int) -> Iterator[ev.Event]:
    """About a hundred events of one turn."""
    ids: dict[str, Any] = {"session": session, "turn": f"{session}_turn_{number}"}
    yield ev.TurnStarted(**ids)
    for step in range(16):
        call = {**ids, "call": f"{session}_{number}_{step}", "connection": f"conn_{session}"}
        yield ev.CallSent(
            **call, model="gpt-5.5", transport="websocket", attempt=1, reuse="reused", input_items=2, bytes_up=900,
            bytes_full=20_000 + 900 * step,
        )  # fmt: skip
        yield ev.CallFirstDelta(**call, latency_ms=20.0, channel="text", ttft_ms=20.0, visible_ttft_ms=20.0)
        for sample in range(1, 4):
            yield ev.CallProgress(**call, output_tokens_est=60 * sample, rate_est=800.0)
        yield ev.CallCompleted(
            **call, status="completed", duration_ms=80.0, ttft_ms=20.0, inference_ms=60.0, deltas=90,
            input_tokens=9_000 + step * 300, cached_tokens=8_800 + step * 300, output_tokens=200, bytes_down=40_000,
            response_id=f"r_{call['call']}",
        )  # fmt: skip
        tool = {**ids, "tool_call": f"t_{call['call']}", "name": "read"}
        yield ev.ToolStarted(**tool)
        yield ev.ToolFinished(**tool, status="ok", duration_ms=2.0, output_bytes=2_000)
    yield ev.TurnFinished(**ids, status="completed", duration_ms=100.0, stages_ms=STAGES, calls=16, tools=16)


def interleaved() -> Iterator[ev.Event]:
    """Turns of all sessions, one event of each in turn, without end."""
    for number in range(SESSIONS):
        yield ev.SessionStarted(client="cli", roots=1, session=f"s{number}", project=f"project {number}")
    running = [turn(f"s{number}", 0) for number in range(SESSIONS)]
    count = 0
    while True:
        for number in range(SESSIONS):
            event = next(running[number], None)
            if event is None:
                count += 1
                running[number] = turn(f"s{number}", count)
                event = next(running[number])
            yield event


def main(state_dir: Path, rate: int, seconds: float) -> None:
    source = new_source()
    sink = JournalSink(state_dir, source)
    emitter = Emitter(sink, SystemClock(), source)
    events = interleaved()
    emitted, started = 0, time.monotonic()
    while (elapsed := time.monotonic() - started) < seconds:
        for _ in range(int(elapsed * rate) - emitted):
            emitter.emit(next(events))
            emitted += 1
        time.sleep(0.01)
    sink.close(10)
    sys.stdout.write(f"{emitted} {sink.dropped} {sink.lost}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
