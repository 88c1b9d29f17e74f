"""A session: one conversation with its history, settings and workspace roots. It outlives turns and connections.

The session owns the history, the model's connection and the policy of approvals; a `Turn` borrows them. Turns of one
session run one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.agent.approvals import Approver, Policy
from agent_core.agent.calls import INTERRUPTED, output_of, unanswered
from agent_core.agent.context import message, workspace_facts
from agent_core.agent.history import History
from agent_core.agent.limits import Limits
from agent_core.agent.toolrunner import ToolRunner
from agent_core.agent.turn import Outcome, Turn
from agent_core.agent.updates import Front, Notice, TurnBegan, TurnEnded
from agent_core.clock import Clock, new_id
from agent_core.errors import LooplineError, UsageError
from agent_core.model.port import CallRequest, Model
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import SessionStarted, Status, TurnFinished, TurnStarted
from agent_core.telemetry.stages import StageClock, to_ms
from agent_core.tools.toolbox import Toolbox
from agent_core.tools.workspace import Workspace


class SessionParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is made of. `client` names the front end (`cli`, `lsp`), `project` is a label or None."""

    history: History
    model: Model
    toolbox: Toolbox
    workspace: Workspace
    policy: Policy
    approver: Approver
    limits: Limits
    instructions: str
    roots: tuple[Path, ...]
    emitter: Emitter
    clock: Clock
    front: Front
    client: str
    project: str | None = None
    websocket_share: float | None = None
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)


class Session:
    """Build with `SessionParts`, `open` once, then `run_turn` as often as wanted, `close` at the end."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self.id = parts.history.header.id
        self._request = CallRequest(
            model=parts.history.header.model,
            instructions=parts.instructions,
            tools=parts.toolbox.wire_json(),
            items=parts.history.items,
            options=parts.options,
        )

    async def open(self) -> None:
        """Announce the session, complete what a dead process left open, and warm the connection up."""
        parts = self._parts
        parts.emitter.emit(
            SessionStarted(
                session=self.id,
                client=parts.client,
                roots=len(parts.roots),
                project=parts.project,
                websocket_share=parts.websocket_share,
            )
        )
        if left := unanswered(parts.history.items.raw(0)):
            parts.history.append([output_of(call, INTERRUPTED) for call in left])
        if not len(parts.history.items):
            parts.history.append([message("developer", workspace_facts(parts.roots))])
        await parts.model.prewarm(self._request)

    async def run_turn(self, task: str) -> Outcome:
        """Run one turn. Errors that end it are in the outcome; CancelledError is passed on once all is tidy."""
        if not task.strip():
            raise UsageError("the task is empty", hint='say what to do: loopline run "make the failing tests pass"')
        parts = self._parts
        turn_id = new_id("turn")
        started_ns = parts.clock.mono_ns()
        stages = StageClock(started_ns)
        turn = self._turn(turn_id, stages)
        parts.emitter.emit(TurnStarted(session=self.id, turn=turn_id))
        parts.front(TurnBegan(turn=turn_id, task=task))
        parts.workspace.changes.clear()
        outcome = turn.report("interrupted", "")
        try:
            parts.history.mark_turn(turn_id, "started")
            parts.history.append([message("user", task)], turn_id)
            outcome = await turn.run()
        except asyncio.CancelledError:
            outcome = turn.report("cancelled", "cancelled")
            raise
        except LooplineError as error:
            outcome = turn.report("failed", error.message, error)
            parts.front(Notice(severity="error", text=error.message + (f" ({error.hint})" if error.hint else "")))
        finally:
            self._finish(turn_id, outcome, stages, started_ns)
        return outcome

    async def close(self) -> None:
        await self._parts.model.close()
        self._parts.history.close()

    def _turn(self, turn_id: str, stages: StageClock) -> Turn:
        parts = self._parts
        return Turn(
            turn=turn_id,
            request=msgspec.structs.replace(self._request, turn=turn_id),
            history=parts.history,
            model=parts.model,
            tools=ToolRunner(
                session=self.id,
                turn=turn_id,
                toolbox=parts.toolbox,
                policy=parts.policy,
                approver=parts.approver,
                stages=stages,
                emitter=parts.emitter,
                clock=parts.clock,
                front=parts.front,
            ),
            limits=parts.limits,
            stages=stages,
            clock=parts.clock,
            front=parts.front,
        )

    def _finish(self, turn_id: str, outcome: Outcome, stages: StageClock, started_ns: int) -> None:
        parts = self._parts
        ended_ns = parts.clock.mono_ns()
        status: Status = outcome.status
        parts.history.mark_turn(turn_id, status, outcome.text)
        duration_ms = (ended_ns - started_ns) / 1e6
        parts.emitter.emit(
            TurnFinished(
                session=self.id,
                turn=turn_id,
                status=status,
                duration_ms=duration_ms,
                stages_ms=to_ms(stages.finish(ended_ns)),
                calls=outcome.calls,
                tools=outcome.tools,
            )
        )
        parts.front(TurnEnded(turn=turn_id, status=status, text=outcome.text, duration_ms=duration_ms))
