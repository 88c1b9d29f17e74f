"""What the session's calls take, from its telemetry: for the status line, the end of a turn, and the dashboard behind
the conversation."""

from __future__ import annotations

from collections import deque

from agent_core.telemetry.events import Event
from agent_core.telemetry.rollup.rows import CallRow
from dashboard.agent.paint.status import Standing
from dashboard.state.fold import State
from dashboard.state.format import money, rate

MAX_WAITING = 50_000
"""Events that wait to be folded; more than that between two looks are dropped, the oldest first."""


class SessionFigures:
    """A telemetry sink; owns the state that the dashboard behind the conversation draws. `emit` may be called from any
    thread, the rest on the event loop."""

    def __init__(self) -> None:
        self.state = State(max_turns=500)
        self._waiting: deque[Event] = deque(maxlen=MAX_WAITING)

    def emit(self, event: Event) -> None:
        self._waiting.append(event)

    def fold(self) -> bool:
        """Take what came; whether anything did."""
        came = bool(self._waiting)
        while self._waiting:
            self.state.apply(self._waiting.popleft())
        return came

    def standing(self, session_id: str, now_ns: int) -> Standing:
        """The figures of a session as of now."""
        call = self._latest(session_id)
        live = self.state.rollup.live_rate(now_ns, session_id) or None
        costs = [call.cost_usd for call in self._calls(session_id) if call.status is not None]
        known = [cost for cost in costs if cost is not None]
        return Standing(
            context_tokens=_context_of(call),
            rate=live if live is not None else call.rate if call is not None else None,
            rate_estimated=live is not None,
            ttft_ms=call.ttft_ms if call is not None else None,
            cache_ratio=call.cache_ratio if call is not None else None,
            reuse=call.reuse if call is not None else None,
            cost_usd=sum(known) or None,
            cost_partial=len(known) < len(costs),
        )

    def of_turn(self, turn_id: str, now_ns: int) -> tuple[str, ...]:
        """What the end of a turn says besides calls and time."""
        line = self.state.turn_line(turn_id, now_ns)
        if line is None:
            return ()
        found: list[str] = []
        if line.rate is not None:
            found.append(rate(line.rate))
        if line.cost_usd:
            found.append(money(line.cost_usd))
        return tuple(found)

    def _calls(self, session_id: str) -> list[CallRow]:
        session = self.state.rollup.sessions.get(session_id)
        turns = session.turns if session is not None else []
        return [call for turn in turns for call in self.state.calls_of(turn)]

    def _latest(self, session_id: str) -> CallRow | None:
        session = self.state.rollup.sessions.get(session_id)
        for turn in reversed(session.turns if session is not None else []):
            if calls := [call for call in self.state.calls_of(turn) if call.ttft_ms is not None]:
                return calls[-1]
        return None


def _context_of(call: CallRow | None) -> int | None:
    """What the next call will hold at least."""
    if call is None or call.input_tokens is None:
        return None
    return call.input_tokens + (call.output_tokens or 0)
