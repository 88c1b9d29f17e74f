"""What a source had under way when it ended without saying so. Pure.

A process that is killed leaves turns, calls and approvals open. Their ends are made from what it told last: status
`interrupted`, at the turn's last activity, with the sequence numbers that would have come next. Whoever computes them
gets the same events, so that a hub which receives them twice keeps them once.
"""

from __future__ import annotations

import msgspec

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.stages import StageClock, ms_to_ns, to_ms


class _Turn(msgspec.Struct):
    session: str | None
    started_ns: int
    clock: StageClock
    calls: int = 0
    tools: int = 0


class Running:
    """Folds the events of one source, in order."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._calls: dict[str, ev.CallSent] = {}
        self._first_deltas: dict[str, int] = {}
        self._approvals: dict[str, ev.ApprovalOpened] = {}
        self._last: dict[str | None, ev.Event] = {}
        """Latest event by turn; of what belongs to no turn under None."""
        self.seq = 0

    @property
    def anything(self) -> bool:
        return bool(self._turns or self._calls or self._approvals)

    def fold(self, event: ev.Event) -> None:
        self.seq = event.seq
        if isinstance(event, ev.SourceAlive):
            return  # a sign of life is no activity
        self._last[event.turn] = event
        match event:
            case ev.TurnStarted(turn=str(turn)):
                self._turns[turn] = _Turn(event.session, event.mono_ns, StageClock(event.mono_ns))
            case ev.TurnFinished(turn=str(turn)):
                self._turns.pop(turn, None)
                if not self._left_open(turn):
                    self._last.pop(turn, None)
            case ev.CallSent(call=str(call)):
                self._calls[call] = event
                self._first_deltas.pop(call, None)
            case ev.CallFirstDelta(call=str(call)):
                self._first_deltas.setdefault(call, event.mono_ns)
            case ev.CallCompleted(call=str(call)):
                self._calls.pop(call, None)
                self._first_deltas.pop(call, None)
            case ev.ApprovalOpened():
                self._approvals[event.approval] = event
            case ev.ApprovalResolved():
                self._approvals.pop(event.approval, None)
        turn_state = self._turns.get(event.turn or "")
        if turn_state is not None:
            _tell(turn_state, event)

    def _left_open(self, turn: str) -> bool:
        """Whether the turn ended with an open call or approval, whose own end was lost on the way."""
        return any(opened.turn == turn for opened in (*self._calls.values(), *self._approvals.values()))

    def interruptions(self) -> list[ev.Event]:
        """The missing ends, in order: calls, approvals, turns."""
        ends: list[ev.Event] = []
        for call, sent in self._calls.items():
            last = self._last[sent.turn]
            streamed_from = self._first_deltas.get(call)
            done = ev.CallCompleted(
                status="interrupted",
                duration_ms=_ms(last.mono_ns - sent.mono_ns),
                inference_ms=0.0 if streamed_from is None else _ms(last.mono_ns - streamed_from),
                call=call,
                connection=sent.connection,
                lane=sent.lane,
            )
            ends.append(self._stamp(done, sent, last, len(ends)))
        for opened in self._approvals.values():
            last = self._last[opened.turn]
            withdrawn = ev.ApprovalResolved(
                approval=opened.approval,
                kind=opened.kind,
                decision="withdrawn",
                waited_ms=_ms(last.mono_ns - opened.mono_ns),
            )
            ends.append(self._stamp(withdrawn, opened, last, len(ends)))
        for turn, state in self._turns.items():
            last = self._last[turn]
            stages_ns = state.clock.finish(last.mono_ns)
            finished = ev.TurnFinished(
                status="interrupted",
                duration_ms=_ms(state.clock.duration_ns()),
                stages_ms=to_ms(stages_ns),
                calls=state.calls,
                tools=state.tools,
            )
            subject = ev.Event(session=state.session, turn=turn)
            ends.append(self._stamp(finished, subject, last, len(ends)))
        return ends

    def _stamp(self, event: ev.Event, subject: ev.Event, last: ev.Event, number: int) -> ev.Event:
        return msgspec.structs.replace(
            event,
            v=last.v,
            source=last.source,
            seq=self.seq + 1 + number,
            time=last.time,
            mono_ns=last.mono_ns,
            session=subject.session,
            turn=subject.turn,
        )


def _tell(state: _Turn, event: ev.Event) -> None:
    clock, ns = state.clock, event.mono_ns
    match event:
        case ev.CallSent(call=str(call)):
            state.calls += event.attempt == 1 and not event.warmup
            clock.call_started(call, ns)
        case ev.CallFirstDelta(call=str(call)):
            clock.first_delta(call, ns)
        case ev.CallCompleted(call=str(call)):
            clock.call_ended(call, ns, None if event.inference_ms is None else ms_to_ns(event.inference_ms))
        case ev.ToolStarted():
            state.tools += 1
            clock.tool_started(event.tool_call, ns)
        case ev.ToolFinished():
            clock.tool_ended(event.tool_call, ns)
        case ev.ApprovalOpened():
            clock.approval_opened(event.approval, ns)
        case ev.ApprovalResolved():
            clock.approval_closed(event.approval, ns)


def _ms(ns: int) -> float:
    return max(0, ns) / 1_000_000
