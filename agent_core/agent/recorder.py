"""The first observer of a session: turn events become the figures of telemetry.

Owns the running turn's stage clock, and writes `turn.*`, `tool.*` and `approval.*`; `call.*` and `connection.*` are
the model client's, which knows of attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent_core.clock import Clock
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import (
    ApprovalOpened,
    ApprovalResolved,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from agent_core.telemetry.rollup.stages import StageClock, ms_to_ns, to_ms
from agent_core.tools.toolbox import ASK
from agent_core.turns import events as told
from agent_core.turns.approval import Approval


class Recorder:
    """One per session. Costs one look-up by type per event."""

    def __init__(self, emitter: Emitter, clock: Clock) -> None:
        self._emitter, self._clock = emitter, clock
        self._stages = StageClock(clock.mono_ns())
        self._open: dict[str, tuple[Approval, int]] = {}
        self._writers: Mapping[type[told.TurnEvent], Callable[[Any], None]] = {
            told.TurnBegan: self._turn_began,
            told.CallBegan: self._call_began,
            told.CallEnded: self._call_ended,
            told.ToolBegan: self._tool_began,
            told.ToolEnded: self._tool_ended,
            told.ApprovalAsked: self._approval_asked,
            told.ApprovalEnded: self._approval_ended,
            told.QuestionAsked: self._question_asked,
            told.QuestionEnded: self._question_ended,
            told.TurnEnded: self._turn_ended,
        }

    def __call__(self, event: told.TurnEvent) -> None:
        write = self._writers.get(type(event))
        if write is not None:
            write(event)

    def _turn_began(self, event: told.TurnBegan) -> None:
        self._stages = StageClock(self._clock.mono_ns())
        self._emitter.emit(TurnStarted(session=event.session_id, turn=event.turn_id))

    def _call_began(self, event: told.CallBegan) -> None:
        self._stages.call_started(event.call_id, self._clock.mono_ns())

    def _call_ended(self, event: told.CallEnded) -> None:
        inference_ns = None if event.inference_ms is None else ms_to_ns(event.inference_ms)
        self._stages.call_ended(event.call_id, self._clock.mono_ns(), inference_ns)

    def _tool_began(self, event: told.ToolBegan) -> None:
        if event.refused or event.name == ASK:
            return  # what a person takes to answer is approval time, and no tool's
        self._stages.tool_started(event.tool_call_id, self._clock.mono_ns())
        self._emitter.emit(
            ToolStarted(session=event.session_id, turn=event.turn_id, tool_call=event.tool_call_id, name=event.name)
        )

    def _tool_ended(self, event: told.ToolEnded) -> None:
        self._stages.tool_ended(event.tool_call_id, self._clock.mono_ns())
        self._emitter.emit(
            ToolFinished(
                session=event.session_id,
                turn=event.turn_id,
                tool_call=event.tool_call_id,
                name=event.name,
                status=event.status,
                duration_ms=event.duration_ms,
                output_bytes=len(event.output.encode("utf-8", "replace")),
            )
        )

    def _approval_asked(self, event: told.ApprovalAsked) -> None:
        approval, opened_ns = event.approval, self._clock.mono_ns()
        self._open[approval.approval_id] = approval, opened_ns
        self._stages.approval_opened(approval.approval_id, opened_ns)
        self._emitter.emit(
            ApprovalOpened(
                session=approval.session_id,
                turn=approval.turn_id,
                approval=approval.approval_id,
                kind=approval.kind,
            )
        )

    def _approval_ended(self, event: told.ApprovalEnded) -> None:
        approval, opened_ns = self._open.pop(event.approval_id)
        closed_ns = self._clock.mono_ns()
        self._stages.approval_closed(event.approval_id, closed_ns)
        self._emitter.emit(
            ApprovalResolved(
                session=event.session_id,
                turn=event.turn_id,
                approval=event.approval_id,
                kind=approval.kind,
                decision=event.decision,
                waited_ms=(closed_ns - opened_ns) / 1e6,
                rule=approval.rule,
                by=event.by or None,
            )
        )

    def _question_asked(self, event: told.QuestionAsked) -> None:
        """A wait for a person like any other: an approval of the kind `question`."""
        question = Approval(
            approval_id=event.question_id,
            session_id=event.session_id,
            turn_id=event.turn_id,
            kind="question",
            name=ASK,
            subject="",
        )
        self._approval_asked(told.ApprovalAsked(approval=question))

    def _question_ended(self, event: told.QuestionEnded) -> None:
        ended = told.ApprovalEnded(
            session_id=event.session_id,
            turn_id=event.turn_id,
            approval_id=event.question_id,
            decision="allow" if event.answer else "withdrawn",
            by=event.by,
        )
        self._approval_ended(ended)

    def _turn_ended(self, event: told.TurnEnded) -> None:
        ended_ns = self._clock.mono_ns()
        stages_ms = to_ms(self._stages.finish(ended_ns))
        self._emitter.emit(
            TurnFinished(
                session=event.session_id,
                turn=event.turn_id,
                status=event.status,
                duration_ms=self._stages.duration_ns() / 1e6,
                stages_ms=stages_ms,
                calls=event.calls,
                tools=event.tools,
                mode=event.mode,
            )
        )
