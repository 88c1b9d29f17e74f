"""Realistic journals for the browser: days of finished sessions, and one that runs while it is watched."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from agent_core.clock import SystemClock
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.rollup.stages import StageClock, to_ms
from tests.support.telemetry.scene import Scene

PROJECTS = ("webshop", "billing", "parser", "infra")
MODELS = ("gpt-5", "gpt-5-mini", "gpt-5.1-codex")
TOOLS = ("read", "search", "edit", "shell", "checks")
ERRORS = ("rate_limit_exceeded", "server_error", "context_length_exceeded")


def write_history(state_dir: Path, *, days: int = 10, sessions: int = 3, seed: int = 5) -> int:
    """Sessions of the last `days` days, over HTTP at first and over WebSockets later; gives the number of turns."""
    chance, turns, number = random.Random(seed), 0, 0
    now_ns = time.time_ns()
    for day in range(days, 0, -1):
        for _ in range(sessions):
            number += 1
            source = f"h{number:06x}-{1000 + number}-{number:06x}"
            sink = JournalSink(state_dir, source)
            scene = Scene(sink, source=source, session=f"sess_{number}")
            scene.clock.set_wall(now_ns - day * 86_400 * 10**9 + chance.randint(600, 7200) * 10**9)
            scene.start_session(chance.choice(PROJECTS))
            scene.open_connection(f"conn_{number}")
            http = chance.random() < (0.8 if day > days / 2 else 0.1)
            for _ in range(chance.randint(2, 4)):
                _turn(scene, chance, "http" if http else "websocket")
                scene.wait(chance.uniform(2_000, 90_000))
                turns += 1
            sink.close(10)
    return turns


def _turn(scene: Scene, chance: random.Random, transport: str) -> None:
    scene.start_turn()
    scene.wait(chance.uniform(3, 20))
    size, fails, calls = 2_000, chance.random() < 0.1, chance.randint(3, 8)
    for number in range(calls):
        chained = number > 0 and transport == "websocket"
        overhead_ms = chance.lognormvariate(1.3 if transport == "websocket" else 3.6, 0.4)
        ttft_ms, decode_ms = overhead_ms + chance.lognormvariate(4.4, 0.3), chance.lognormvariate(6.0, 0.5)
        call = scene.send(
            model=MODELS[number % 3 if number < 3 else 0],
            transport=transport,
            reuse="reused" if chained else "first" if number == 0 else "full_resend",
            bytes_up=chance.randint(600, 2_500) if chained else size * 4,
            bytes_full=size * 4,
        )
        scene.wait(ttft_ms)
        scene.delta(call, ttft_ms, visible_ttft_ms=ttft_ms)
        scene.wait(decode_ms)
        failed = fails and number == calls - 1
        scene.complete(
            call, ttft_ms + decode_ms, ttft_ms - overhead_ms + decode_ms, ttft_ms=ttft_ms, deltas=40,
            input_tokens=size, cached_tokens=int(size * chance.uniform(0.7, 0.96)) if number else 0,
            output_tokens=int(decode_ms * chance.uniform(0.5, 0.9)) + 2, status="failed" if failed else "completed",
            error_code=chance.choice(ERRORS) if failed else None,
        )  # fmt: skip
        size += chance.randint(200, 1_500)
        if number + 1 < calls:
            if chance.random() < 0.15:
                approval, waited_ms = scene.open_approval(f"appr_{call}"), chance.uniform(500, 3_000)
                scene.wait(waited_ms)
                scene.resolve_approval(approval, waited_ms)
            for tool in [scene.start_tool(name) for name in chance.sample(TOOLS, chance.choice((1, 1, 2, 3)))]:
                took_ms = chance.lognormvariate(4.5, 1.0)
                scene.wait(took_ms)
                scene.finish_tool(tool, took_ms)
    scene.wait(chance.uniform(2, 10))
    scene.finish_turn("failed" if fails else "completed")


class LiveAgent:
    """One session on real clocks: each method emits what an agent does now, and waits until others can read it."""

    def __init__(self, state_dir: Path, number: int = 1, *, project: str = "webshop") -> None:
        self.source = f"h{number:06x}-{9000 + number}-{number:06x}"
        self.session = f"live_{number}"
        self._clock = SystemClock()
        self._sink = JournalSink(state_dir, self.source)
        self._emitter = Emitter(self._sink, self._clock, self.source)
        self._turns = self._calls = self._tools = 0
        self._stages = StageClock(0)
        self._sent_ns = 0
        self.turn = self._call = self._tool = ""
        self._tell(ev.SessionStarted(client="cli", roots=1, project=project, session=self.session))
        self._tell(ev.ConnectionOpened(session=self.session, connection=f"live_conn_{number}", handshake_ms=4.2))
        self._connection = f"live_conn_{number}"

    def start_turn(self) -> str:
        self._turns += 1
        self.turn = f"{self.session}_turn_{self._turns}"
        self._stages = StageClock(self._clock.mono_ns())
        self._calls = self._tools = 0
        self._tell(ev.TurnStarted(session=self.session, turn=self.turn))
        return self.turn

    def start_call(self, model: str = "gpt-5", ttft_ms: float = 80.0) -> None:
        self._calls += 1
        self._call, self._sent_ns = f"{self.turn}_call_{self._calls}", self._clock.mono_ns()
        chained = self._turns > 1 or self._calls > 1
        self._tell(
            ev.CallSent(
                **self._ids(), model=model, transport="websocket", attempt=1, input_items=2, bytes_up=1_200,
                reuse="reused" if chained else "first", bytes_full=12_000,
            )
        )  # fmt: skip
        self._stages.call_started(self._call, self._sent_ns)
        self._tell(
            ev.CallFirstDelta(
                **self._ids(), latency_ms=ttft_ms, channel="text", ttft_ms=ttft_ms, visible_ttft_ms=ttft_ms
            )
        )
        self._stages.first_delta(self._call, self._clock.mono_ns())

    def progress(self, tokens: int, rate: float) -> None:
        self._tell(ev.CallProgress(**self._ids(), output_tokens_est=tokens, rate_est=rate))

    def end_call(self, *, error_code: str | None = None) -> None:
        took_ms = (self._clock.mono_ns() - self._sent_ns) / 1e6
        self._tell(
            ev.CallCompleted(
                **self._ids(), status="failed" if error_code else "completed", response_id=f"resp_{self._call}",
                duration_ms=took_ms, ttft_ms=80.0, inference_ms=took_ms * 0.9, input_tokens=4_000, cached_tokens=3_400,
                output_tokens=420, deltas=50, error_code=error_code,
            )
        )  # fmt: skip
        self._stages.call_ended(self._call, self._clock.mono_ns(), int(took_ms * 0.9e6))

    def start_tool(self, name: str = "checks") -> None:
        self._tools += 1
        self._tool = f"{self.turn}_tool_{self._tools}"
        self._tell(ev.ToolStarted(session=self.session, turn=self.turn, tool_call=self._tool, name=name))
        self._stages.tool_started(self._tool, self._clock.mono_ns())

    def end_tool(self, name: str = "checks") -> None:
        self._stages.tool_ended(self._tool, self._clock.mono_ns())
        self._tell(
            ev.ToolFinished(
                session=self.session, turn=self.turn, tool_call=self._tool, name=name, status="ok", duration_ms=5.0,
                output_bytes=100,
            )
        )  # fmt: skip

    def end_turn(self, status: ev.Status = "completed") -> str:
        stages_ns = self._stages.finish(self._clock.mono_ns())
        self._tell(
            ev.TurnFinished(
                session=self.session, turn=self.turn, status=status, duration_ms=self._stages.duration_ns() / 1e6,
                stages_ms=to_ms(stages_ns), calls=self._calls, tools=self._tools,
            )
        )  # fmt: skip
        return self.turn

    def whole_turn(self) -> str:
        self.start_turn()
        self.start_call()
        self.end_call()
        return self.end_turn()

    def close(self) -> None:
        self._sink.close(5)

    def _tell(self, event: ev.Event) -> None:
        self._emitter.emit(event)
        assert self._sink.flush(5)

    def _ids(self) -> dict[str, Any]:
        return {
            "session": self.session, "turn": self.turn, "call": self._call, "connection": self._connection
        }  # fmt: skip
