"""A scene that emits telemetry as the agent and the model port do, on a clock that moves only when told."""

from __future__ import annotations

from typing import Any

from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter, FanOut, ListSink, Sink
from agent_core.telemetry.rollup.stages import StageClock, ms_to_ns, to_ms

MS = 1_000_000
EPOCH_NS = 1_796_000_000_000_000_000
"""2026-11-30T00:53:20Z, where scenes begin."""


class HandClock:
    """Both clocks move together by `wait`; `set_wall` steps the wall clock alone, as an administrator does."""

    def __init__(self, wall_ns: int = EPOCH_NS, mono_ns: int = 1_000_000_000) -> None:
        self._wall_ns, self._mono_ns = wall_ns, mono_ns

    def wall_ns(self) -> int:
        return self._wall_ns

    def mono_ns(self) -> int:
        return self._mono_ns

    async def sleep(self, delay_s: float) -> None:
        self.wait(delay_s * 1000)

    def wait(self, ms: float) -> None:
        self._wall_ns += round(ms * MS)
        self._mono_ns += round(ms * MS)

    def set_wall(self, wall_ns: int) -> None:
        self._wall_ns = wall_ns


class Scene:
    """One source. Every method emits what the product would; ids are handed in or made up from a counter."""

    def __init__(self, *sinks: Sink, source: str = "h000000-1-aaaaaa", session: str = "sess_1") -> None:
        self.clock = HandClock()
        self._list = ListSink()
        self._emitter = Emitter(FanOut((self._list, *sinks)), self.clock, source)
        self.session, self.turn = session, ""
        self.stages = StageClock(0)
        self._calls = self._tools = self._turns = 0

    @property
    def events(self) -> list[ev.Event]:
        return self._list.events

    def wait(self, ms: float) -> None:
        self.clock.wait(ms)

    def emit(self, event: ev.Event) -> None:
        self._emitter.emit(event)

    def start_session(self, project: str | None = None) -> None:
        self.emit(ev.SessionStarted(client="cli", roots=1, project=project, session=self.session))

    def open_connection(self, connection: str = "conn_1", handshake_ms: float = 3.0) -> None:
        self.emit(ev.ConnectionOpened(session=self.session, connection=connection, handshake_ms=handshake_ms))

    def start_turn(self, turn: str | None = None) -> str:
        self._turns += 1
        self.turn = turn or f"{self.session}_turn_{self._turns}"
        self.stages = StageClock(self.clock.mono_ns())
        self.emit(ev.TurnStarted(session=self.session, turn=self.turn))
        return self.turn

    def finish_turn(self, status: ev.Status = "completed") -> None:
        stages_ns = self.stages.finish(self.clock.mono_ns())
        self.emit(
            ev.TurnFinished(
                session=self.session,
                turn=self.turn,
                status=status,
                duration_ms=self.stages.duration_ns() / MS,
                stages_ms=to_ms(stages_ns),
                calls=self._calls,
                tools=self._tools,
            )
        )
        self.turn = ""

    def send(self, call: str | None = None, **fields: Any) -> str:
        """`call.sent`; overrides by field name."""
        self._calls += call is None
        call = call or f"{self.session}_call_{self._calls}"
        told: dict[str, Any] = {
            "model": "gpt-5",
            "transport": "websocket",
            "attempt": 1,
            "reuse": "reused",
            "input_items": 1,
            "bytes_up": 100,
        }
        self.emit(ev.CallSent(**self.ids(call), **{**told, **fields}))
        self.stages.call_started(call, self.clock.mono_ns())
        return call

    def delta(self, call: str, ttft_ms: float, channel: Any = "text", visible_ttft_ms: float | None = None) -> None:
        visible = float(ttft_ms) if visible_ttft_ms is None and channel != "reasoning" else visible_ttft_ms
        self.emit(
            ev.CallFirstDelta(
                **self.ids(call),
                latency_ms=float(ttft_ms),
                ttft_ms=float(ttft_ms),
                channel=channel,
                visible_ttft_ms=visible,
            )
        )
        self.stages.first_delta(call, self.clock.mono_ns())

    def complete(self, call: str, duration_ms: float, inference_ms: float | None = None, **fields: Any) -> None:
        told: dict[str, Any] = {"status": "completed", "response_id": f"resp_{call}"}
        self.emit(
            ev.CallCompleted(
                **self.ids(call), **{**told, "duration_ms": float(duration_ms), "inference_ms": inference_ms, **fields}
            )
        )
        inference_ns = None if inference_ms is None else ms_to_ns(inference_ms)
        self.stages.call_ended(call, self.clock.mono_ns(), inference_ns)

    def call(
        self, ttft_ms: float = 20, decode_ms: float = 30, sent: dict[str, Any] | None = None, **fields: Any
    ) -> str:
        """A whole call: sent, first delta after `ttft_ms`, completed `decode_ms` later."""
        call = self.send(**(sent or {}))
        self.wait(ttft_ms)
        self.delta(call, ttft_ms)
        self.wait(decode_ms)
        told: dict[str, Any] = {"deltas": 5, "input_tokens": 1000, "cached_tokens": 800, "output_tokens": 31}
        self.complete(call, ttft_ms + decode_ms, float(decode_ms), ttft_ms=float(ttft_ms), **{**told, **fields})
        return call

    def start_tool(self, name: str = "read", tool_call: str | None = None) -> str:
        self._tools += 1
        tool_call = tool_call or f"tool_{self._tools}"
        self.emit(ev.ToolStarted(session=self.session, turn=self.turn, tool_call=tool_call, name=name))
        self.stages.tool_started(tool_call, self.clock.mono_ns())
        return tool_call

    def finish_tool(self, tool_call: str, duration_ms: float = 0.0, name: str = "read", status: Any = "ok") -> None:
        self.emit(
            ev.ToolFinished(
                session=self.session, turn=self.turn, tool_call=tool_call, name=name,
                status=status, duration_ms=float(duration_ms), output_bytes=10,
            )
        )  # fmt: skip
        self.stages.tool_ended(tool_call, self.clock.mono_ns())

    def tool(self, ms: float, name: str = "read") -> None:
        tool_call = self.start_tool(name)
        self.wait(ms)
        self.finish_tool(tool_call, ms, name)

    def open_approval(self, approval: str = "appr_1") -> str:
        self.emit(ev.ApprovalOpened(session=self.session, turn=self.turn, approval=approval, kind="command"))
        self.stages.approval_opened(approval, self.clock.mono_ns())
        return approval

    def resolve_approval(self, approval: str = "appr_1", waited_ms: float = 0.0) -> None:
        self.emit(
            ev.ApprovalResolved(
                session=self.session,
                turn=self.turn,
                approval=approval,
                kind="command",
                decision="allow",
                waited_ms=float(waited_ms),
            )
        )
        self.stages.approval_closed(approval, self.clock.mono_ns())

    def ids(self, call: str) -> dict[str, Any]:
        return {"session": self.session, "turn": self.turn or None, "call": call, "connection": "conn_1"}
