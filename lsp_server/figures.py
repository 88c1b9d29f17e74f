"""The figures of a session's running call, from the same events and the same roll-up as everywhere else."""

from __future__ import annotations

import logging
from collections.abc import Callable

from agent_core.clock import Clock
from agent_core.telemetry import events as tel
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import CallRow
from lsp_server.protocol import events as ev

log = logging.getLogger(__name__)

_OF_CALLS = (tel.CallSent, tel.CallFirstDelta, tel.CallProgress, tel.CallCompleted)
_OF_STAGES = (tel.CallCompleted, tel.ToolFinished, tel.ApprovalResolved, tel.TurnFinished)
_CONNECTION: dict[type[tel.Event], str] = {
    tel.ConnectionOpened: "connected",
    tel.ConnectionReconnected: "connected",
    tel.ConnectionRotated: "connected",
    tel.ConnectionFallback: "http",
    tel.ConnectionClosed: "closed",
}


class CallWatch:
    """A telemetry sink of one session. `put` takes events for the editors, `connection` the socket's state."""

    def __init__(self, clock: Clock, put: Callable[[ev.AnyEvent], None], connection: Callable[[str], None]) -> None:
        self._clock, self._put, self._connection = clock, put, connection
        self._rollup = Rollup(max_turns=20)

    def emit(self, event: tel.Event) -> None:
        """Called on the event loop; never raises."""
        try:
            self._fold(event)
        except Exception as error:
            log.error("figures of a call failed with %s", type(error).__name__)

    def _fold(self, event: tel.Event) -> None:
        if not self._rollup.fold(event):
            return
        if (state := _CONNECTION.get(type(event))) is not None:
            self._connection(state)
        row = self._rollup.calls.get(event.call or "")
        if isinstance(event, _OF_CALLS) and row is not None and not row.warmup and row.session and row.turn:
            self._put(self._call(row, row.session, row.turn))
        if isinstance(event, _OF_STAGES) and event.turn in self._rollup.turns and event.session:
            turn = self._rollup.turn_now(event.turn, self._clock.wall_ns())
            self._put(
                ev.Stages(
                    session_id=event.session,
                    turn_id=event.turn,
                    stages_ms={name: round(ms, 1) for name, ms in turn.stages_ms.items()},
                    calls=len([call for call in turn.calls if not self._rollup.calls[call].warmup]),
                    running=turn.status is None,
                )
            )

    def _call(self, row: CallRow, session: str, turn: str) -> ev.Call:
        rate = self._rollup.live_rate(self._clock.wall_ns(), session) if row.running else row.rate
        return ev.Call(
            session_id=session,
            turn_id=turn,
            call_id=row.call,
            number=row.number,
            status=row.status or "running",
            model=row.model,
            transport=row.transport,
            reuse=row.reuse,
            ttft_ms=_rounded(row.ttft_ms),
            tokens_per_s=_rounded(rate),
            input_tokens=row.input_tokens,
            cached_tokens=row.cached_tokens,
            cached_share=row.cache_ratio,
            output_tokens=row.output_tokens if row.output_tokens is not None else row.output_tokens_est,
            reasoning_tokens=row.reasoning_tokens,
            duration_ms=_rounded(row.duration_ms),
        )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
