"""Runs one tool call of a turn: approval, the tool itself, and what is told of both.

A refusal is a result for that call only. Nothing but cancellation comes out of `run` as an exception.
"""

from __future__ import annotations

from collections import deque
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import msgspec

from agent_core.agent.approvals.pending import Answer, PendingApprovals
from agent_core.agent.approvals.policy import subject_of, targets_of
from agent_core.agent.approvals.questions import Answered, PendingQuestions
from agent_core.agent.calls import CANCELLED, Call
from agent_core.agent.checkpoints.checkpoints import Checkpoints, Found
from agent_core.agent.terms import TurnPolicy
from agent_core.clock import Clock, new_id, rfc3339
from agent_core.text import to_json
from agent_core.tools.port import Kind, ToolContext, ToolResult
from agent_core.tools.toolbox import APPLY_PATCH, ASK, EVERYTHING, Offer, Toolbox
from agent_core.tools.workspace.workspace import Workspace
from agent_core.turns import events as told
from agent_core.turns.approval import Approval
from agent_core.turns.events import Observer
from agent_core.turns.question import Question

NOBODY = "nobody can approve this here; run with `--approve auto`, or in a terminal"
MAX_LEFT_LINES = 50
"""Lines of a cancelled tool's output that are kept."""


class ToolRunner:
    """Belongs to one turn; borrows the session's toolbox and terms."""

    def __init__(
        self,
        *,
        session_id: str,
        turn_id: str,
        toolbox: Toolbox,
        terms: TurnPolicy,
        approvals: PendingApprovals,
        clock: Clock,
        observer: Observer,
        workspace: Workspace,
        checkpoints: Checkpoints | None = None,
        offer: Offer = EVERYTHING,
        questions: PendingQuestions | None = None,
    ) -> None:
        self._offer, self._questions = offer, questions or PendingQuestions()
        self._checkpoints, self._workspace = checkpoints, workspace
        self._ids = {"session_id": session_id, "turn_id": turn_id}
        self._toolbox, self._terms, self._approvals = toolbox, terms, approvals
        self._clock, self._tell = clock, observer
        self._lines: dict[str, deque[str]] = {}
        self.kinds: dict[str, Kind] = {spec.name: spec.kind for spec in toolbox.specs}

    async def run(self, call: Call) -> ToolResult:
        """Ask if needed, then run; the result is what the model is told."""
        call = _plain(call)
        if (refusal := await self._approve(call)) is not None:
            self._began(call, refused=True)
            return self._finished(call, refusal, self._clock.mono_ns(), Found())
        self._began(call)
        started_ns = self._clock.mono_ns()
        result, found = ToolResult(output="cancelled", status="cancelled"), Found()
        try:
            async with self._checkpoint(call) as found:
                with self._workspace.permitting(self._targets(call)):
                    result = await self._toolbox.run(call.name, call.arguments, self._context(call))
        finally:
            self._finished(call, result, started_ns, found)
        return result

    def _checkpoint(self, call: Call) -> AbstractAsyncContextManager[Found]:
        """Edits are recorded as they are written; around what other programs do the tree is looked at."""
        if self._checkpoints is None or self.kinds.get(call.name) not in ("command", "mcp"):
            return nullcontext(Found())
        return self._checkpoints.command(behind=bool(self._toolbox.begun()))

    def _targets(self, call: Call) -> list[str]:
        """What an editing tool would write; by now nobody is against it."""
        return targets_of(call.name, _object(call.arguments)) if self.kinds.get(call.name) == "edit" else []

    def _guarded(self, call: Call) -> str:
        """What of a call's targets runs by itself, and why; "" if none does."""
        found = {entry.relative: entry.why for path in self._targets(call) if (entry := self._workspace.guarded(path))}
        return "; ".join(f"{path}: {why}" for path, why in found.items())

    def left_by(self, call: Call) -> str:
        """What is to be told of a call that was cancelled while it ran; "" if it said nothing."""
        lines = self._lines.get(call.key)
        return "\n".join((*lines, f"[{CANCELLED}; these are lines of what it printed until then]")) if lines else ""

    def _context(self, call: Call) -> ToolContext:
        lines = self._lines[call.key] = deque(maxlen=MAX_LEFT_LINES)

        def progress(line: str) -> None:
            lines.append(line)
            self._tell(told.ToolOutput(**self._ids, tool_call_id=call.key, line=line))

        return ToolContext(tool_call=call.key, progress=progress, ask=self._put if self._offer.asks else None)

    async def _put(self, question: str, options: tuple[str, ...]) -> str | None:
        """Put a question to the user and wait; it is withdrawn when the turn is cancelled."""
        asked = Question(
            **self._ids,
            question_id=new_id("ques"),
            question=question,
            options=options,
            opened=rfc3339(self._clock.wall_ns()),
        )
        key = asked.question_id
        self._tell(told.QuestionAsked(**self._ids, question_id=key, question=question, options=options))
        answered = Answered(None)
        try:
            answered = await self._questions.ask(asked)
        finally:
            ended = told.QuestionEnded(**self._ids, question_id=key, answer=answered.text or "", by=answered.by)
            self._tell(ended)
        return answered.text

    def _began(self, call: Call, *, refused: bool = False) -> None:
        began = told.ToolBegan(
            **self._ids, tool_call_id=call.key, name=call.name, arguments=call.arguments, refused=refused
        )
        self._tell(began)

    def _finished(self, call: Call, result: ToolResult, started_ns: int, found: Found) -> ToolResult:
        """`found`: what a command changed, which the tool itself does not know."""
        ended = told.ToolEnded(
            **self._ids,
            tool_call_id=call.key,
            name=call.name,
            status=result.status,
            summary=result.summary,
            diff=result.diff,
            files_changed=tuple(dict.fromkeys((*result.files_changed, *found.paths))),
            more_files=found.more,
            by="command" if found.paths else "edit",
            duration_ms=(self._clock.mono_ns() - started_ns) / 1e6,
            arguments=call.arguments,
            output=result.output,
            data=dict(result.data),
        )
        self._tell(ended)
        if call.name == "plan" and (steps := result.data.get("steps")):
            self._tell(told.Plan(**self._ids, steps=msgspec.convert(tuple(steps), tuple[told.Step, ...])))
        return result

    async def _approve(self, call: Call) -> ToolResult | None:
        """None: go ahead. Else the refusal, as the tool's result."""
        kind = self.kinds.get(call.name)
        if kind is None:
            return None  # an unknown tool has no effect; the toolbox answers it with what exists
        if not self._allowed(call):
            return _denied("nobody can answer here" if call.name == ASK else "plan mode: nothing may be changed")
        subject = subject_of(call.name, _object(call.arguments))
        verdict = self._terms.policy.decide(kind, call.name, subject, self._guarded(call))
        if verdict.outcome == "allow":
            return None
        if verdict.outcome == "deny":
            return _denied(f"denied by {verdict.rule}")
        approval = Approval(
            **self._ids,
            approval_id=new_id("appr"),
            kind=kind,
            name=call.name,
            subject=subject,
            rule=verdict.rule,
            always=verdict.always,
            tool_call_id=call.key,
            opened=rfc3339(self._clock.wall_ns()),
        )
        decision = (await self._ask(approval)).decision
        if decision is None:
            return _denied(
                f"nobody can approve this here, and it asks: {verdict.rule}" if verdict.even_auto else NOBODY
            )
        if decision == "always":
            self._terms.policy.remember(call.name, subject)
        return None if decision != "deny" else _denied("denied by the user")

    def _allowed(self, call: Call) -> bool:
        """Whether the turn's mode allows it. What goes on in the background would outlive the mode."""
        later = self._offer.reading_only and _object(call.arguments).get("background")
        return self._toolbox.offered(call.name, self._offer) and not later

    async def _ask(self, approval: Approval) -> Answer:
        """Open an approval, wait for its answer; it is withdrawn when the turn is cancelled."""
        self._tell(told.ApprovalAsked(approval=approval))
        answer: Answer | None = None
        try:
            answer = await self._approvals.ask(approval)
        finally:
            self._tell(
                told.ApprovalEnded(
                    **self._ids,
                    approval_id=approval.approval_id,
                    decision="withdrawn" if answer is None else answer.decision or "deny",
                    by="" if answer is None else answer.by,
                )
            )
        return answer


def _plain(call: Call) -> Call:
    """A call of the free-form `apply_patch` as the call of `patch` that it is: for approvals, guards and people."""
    if call.name != APPLY_PATCH:
        return call
    patch = call.arguments if call.item_type == "custom_tool_call" else _object(call.arguments).get("input", "")
    return msgspec.structs.replace(call, name="patch", arguments=to_json({"patch": patch}).decode())


def _denied(why: str) -> ToolResult:
    return ToolResult(output=f"not run: {why}", status="denied", summary=why)


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return {}
    return value if isinstance(value, dict) else {}
