"""A process that writes a journal until it is killed: `python -m tests.support.telemetry.writer STATE_DIR SOURCE
MODE`.

Mode `turn`: writes half a turn, says `ready` once others can read it, then waits. Mode `spam`: says `ready` after
the first event and goes on emitting. Mode `limit`: like `spam`, but no file of this process may pass 64 kB; prints
the counts at the end.
"""

from __future__ import annotations

import logging
import resource
import signal
import sys
import time
from pathlib import Path

from agent_core.clock import SystemClock
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.journal.sink import JournalSink


def main(state_dir: Path, source: str, mode: str) -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    if mode == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))
    sink = JournalSink(state_dir, source)
    emitter = Emitter(sink, SystemClock(), source)
    emitter.emit(ev.SessionStarted(client="cli", roots=1, session="s"))
    if mode == "turn":
        half_a_turn(emitter)
        assert sink.flush(10)
        print("ready", flush=True)
        signal.pause()
    assert sink.flush(10)
    print("ready", flush=True)
    for number in range(1_000_000 if mode == "spam" else 2_000):
        emitter.emit(ev.TurnStarted(session="s", turn=f"t{number}"))
        if number % 20 == 0:
            time.sleep(0.001)
    sink.close(5)
    print(sink.dropped, sink.lost, flush=True)


def half_a_turn(emitter: Emitter) -> None:
    emitter.emit(ev.TurnStarted(session="s", turn="t"))
    emitter.emit(
        ev.CallSent(
            session="s",
            turn="t",
            call="c",
            model="gpt-5",
            transport="websocket",
            attempt=1,
            reuse="first",
            input_items=1,
            bytes_up=10,
        )
    )
    emitter.emit(
        ev.CallFirstDelta(session="s", turn="t", call="c", latency_ms=1, channel="text", ttft_ms=1, visible_ttft_ms=1)
    )
    emitter.emit(ev.CallProgress(session="s", turn="t", call="c", output_tokens_est=12, rate_est=100))
    emitter.emit(ev.ToolStarted(session="s", turn="t", tool_call="x", name="read"))
    emitter.emit(ev.ApprovalOpened(session="s", turn="t", approval="a", kind="command"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
