"""Runs one tool call of a turn: approval, the tool itself, telemetry and updates for the front end.

A refusal is a result for that call only. Nothing but cancellation comes out of `run` as an exception.
"""

from __future__ import annotations

from collections import deque
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import msgspec

from agent_core.agent.approvals.policy import Decision, Question, shown, subject_of
from agent_core.agent.approvals.questions import Questions
from agent_core.agent.calls import CANCELLED, Call
from agent_core.agent.checkpoints.checkpoints import Checkpoints
from agent_core.agent.terms import Terms
from agent_core.clock import Clock, new_id
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import ApprovalOpened, ApprovalResolved, ToolFinished, ToolStarted
from agent_core.telemetry.rollup.stages import StageClock
from agent_core.tools.port import Kind, ToolContext, ToolResult
from agent_core.tools.toolbox import Toolbox
from agent_core.turns.events import ApprovalAsked, ApprovalEnded, Front, ToolBegan, ToolEnded, ToolLine

MAX_LEFT_LINES = 50
"""Lines of a cancelled tool's output that are kept."""


class ToolRunner:
    """Belongs to one turn; borrows the session's toolbox and terms."""

    def __init__(
        self,
        *,
        session: str,
        turn: str,
        toolbox: Toolbox,
        terms: Terms,
        questions: Questions,
        stages: StageClock,
        emitter: Emitter,
        clock: Clock,
        front: Front,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self._checkpoints = checkpoints
        self._session, self._turn = session, turn
        self._toolbox, self._terms, self._questions = toolbox, terms, questions
        self._stages, self._emitter, self._clock, self._front = stages, emitter, clock, front
        self._lines: dict[str, deque[str]] = {}
        self.kinds: dict[str, Kind] = {spec.name: spec.kind for spec in toolbox.specs}

    async def run(self, call: Call) -> ToolResult:
        """Ask if needed, then run; the result is what the model is told."""
        if (refusal := await self._approve(call)) is not None:
            self._front(ToolBegan(turn=self._turn, tool_call=call.call_id, name=call.name, arguments=call.arguments))
            return self._finished(call, refusal, self._clock.mono_ns())
        self._front(ToolBegan(turn=self._turn, tool_call=call.call_id, name=call.name, arguments=call.arguments))
        self._emitter.emit(ToolStarted(session=self._session, turn=self._turn, tool_call=call.call_id, name=call.name))
        started_ns = self._clock.mono_ns()
        self._stages.tool_started(call.call_id, started_ns)
        result = ToolResult(output="cancelled", status="cancelled")
        try:
            async with self._checkpoint(call):
                result = await self._toolbox.run(call.name, call.arguments, self._context(call))
        finally:
            self._stages.tool_ended(call.call_id, self._clock.mono_ns())
            self._finished(call, result, started_ns)
        return result

    def _checkpoint(self, call: Call) -> AbstractAsyncContextManager[None]:
        """Edits are recorded as they are written; around what other programs do the tree is looked at."""
        if self._checkpoints is None or self.kinds.get(call.name) not in ("command", "mcp"):
            return nullcontext()
        return self._checkpoints.command()

    def left_by(self, call: Call) -> str:
        """What is to be told of a call that was cancelled while it ran; "" if it said nothing."""
        lines = self._lines.get(call.call_id)
        return "\n".join((*lines, f"[{CANCELLED}; these are lines of what it printed until then]")) if lines else ""

    def _context(self, call: Call) -> ToolContext:
        lines = self._lines[call.call_id] = deque(maxlen=MAX_LEFT_LINES)

        def progress(line: str) -> None:
            lines.append(line)
            self._front(ToolLine(turn=self._turn, tool_call=call.call_id, line=line))

        return ToolContext(tool_call=call.call_id, progress=progress)

    def _finished(self, call: Call, result: ToolResult, started_ns: int) -> ToolResult:
        duration_ms = (self._clock.mono_ns() - started_ns) / 1e6
        self._emitter.emit(
            ToolFinished(
                session=self._session,
                turn=self._turn,
                tool_call=call.call_id,
                name=call.name,
                status=result.status,
                duration_ms=duration_ms,
                output_bytes=len(result.output.encode("utf-8", "replace")),
            )
        )
        self._front(
            ToolEnded(
                turn=self._turn,
                tool_call=call.call_id,
                name=call.name,
                arguments=call.arguments,
                result=result,
                duration_ms=duration_ms,
            )
        )
        return result

    async def _approve(self, call: Call) -> ToolResult | None:
        """None: go ahead. Else the refusal, as the tool's result."""
        kind = self.kinds.get(call.name)
        if kind is None:
            return None  # an unknown tool has no effect; the toolbox answers it with what exists
        subject = subject_of(call.name, _object(call.arguments))
        verdict = self._terms.policy.decide(kind, call.name, subject)
        if verdict.outcome == "allow":
            return None
        if verdict.outcome == "deny":
            return _denied(f"denied by {verdict.rule}")
        question = Question(
            approval=new_id("appr"),
            kind=kind,
            name=call.name,
            subject=shown(call.name, subject),
            rule=verdict.rule,
            always=verdict.always,
        )
        decision = await self._ask(question)
        if decision is None:
            return _denied("nobody can approve this here; run with `--approve auto`, or in a terminal")
        if decision == "always":
            self._terms.policy.remember(call.name, subject)
        return None if decision != "deny" else _denied("denied by the user")

    async def _ask(self, question: Question) -> Decision | None:
        """Open an approval, wait for its answer; it is withdrawn when the turn is cancelled."""
        opened_ns = self._clock.mono_ns()
        self._stages.approval_opened(question.approval, opened_ns)
        self._emitter.emit(
            ApprovalOpened(session=self._session, turn=self._turn, approval=question.approval, kind=question.kind)
        )
        self._front(
            ApprovalAsked(turn=self._turn, approval=question.approval, kind=question.kind, subject=question.subject)
        )
        decision: Decision | None = None
        withdrawn = True
        try:
            decision = await self._questions.ask(question, self._turn, self._clock.wall_ns())
            withdrawn = False
        finally:
            closed_ns = self._clock.mono_ns()
            self._stages.approval_closed(question.approval, closed_ns)
            outcome = "withdrawn" if withdrawn else decision or "deny"
            self._emitter.emit(
                ApprovalResolved(
                    session=self._session,
                    turn=self._turn,
                    approval=question.approval,
                    kind=question.kind,
                    decision="withdrawn" if withdrawn else decision or "deny",
                    waited_ms=(closed_ns - opened_ns) / 1e6,
                    rule=question.rule,
                )
            )
            self._front(ApprovalEnded(turn=self._turn, approval=question.approval, decision=outcome))
        return decision


def _denied(why: str) -> ToolResult:
    return ToolResult(output=f"not run: {why}", status="denied", summary=why)


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return {}
    return value if isinstance(value, dict) else {}
