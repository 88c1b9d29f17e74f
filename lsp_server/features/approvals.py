"""Answers to questions, by command; and asking this editor's user what another process wants to know."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from agent_core.control.messages import ControlError
from agent_core.errors import LooplineError, UsageError
from agent_core.turns import events as up
from agent_core.turns.approval import Approval
from lsp_server.live import LiveSession
from lsp_server.protocol.methods import ApprovalAnswer
from lsp_server.remote import RemoteSession

if TYPE_CHECKING:
    from lsp_server.server import LoopServer

REMEMBERED = 200
"""Closed approvals that may be answered again without an error."""


def register(server: LoopServer) -> None:
    closed: deque[str] = deque(maxlen=REMEMBERED)
    asking: dict[str, asyncio.Task[None]] = {}

    async def answer(given: ApprovalAnswer, token: int | str | None) -> None:
        for session in server.desk.sessions.values():
            if isinstance(session, LiveSession):
                if session.answer(given.approval_id, given.decision):
                    return
            elif given.approval_id in session.approvals:
                await told(session.answer(given.approval_id, given.decision))
                return
        if given.approval_id in closed:
            return
        if not await told(server.desk.answer_elsewhere(given.approval_id, given.decision)):
            raise UsageError(f"there is no approval {given.approval_id[:80]!r}", code="unknown_approval")
        closed.append(given.approval_id)

    async def told(answering: Coroutine[Any, Any, bool | None]) -> bool | None:
        """True as well if somebody else was quicker."""
        try:
            return await answering
        except ControlError as error:
            if error.code != "control_not_found":
                raise
            return True

    async def ask(remote: RemoteSession, approval: Approval) -> None:
        try:
            with contextlib.suppress(LooplineError):  # it was answered elsewhere, or one of the two is gone
                await remote.answer(approval.approval_id, await server.ask(approval))
        finally:
            asking.pop(approval.approval_id, None)

    def asked(remote: RemoteSession, approval: Approval) -> None:
        if approval.approval_id not in asking:
            asking[approval.approval_id] = server.spawn(ask(remote, approval), "ask for another process")

    def attached(remote: RemoteSession) -> None:
        for approval in remote.approvals.values():
            asked(remote, approval)

    def updated(session: str, event: up.TurnEvent) -> None:
        known = server.desk.sessions.get(session)
        if isinstance(event, up.ApprovalEnded):
            closed.append(event.approval_id)
            if event.approval_id in asking:
                asking[event.approval_id].cancel()
        elif isinstance(event, up.ApprovalAsked) and isinstance(known, RemoteSession):
            asked(known, event.approval)

    server.on_command("loopline.approval.answer", ApprovalAnswer, answer)
    server.when_attached.append(attached)
    server.when_updated.append(updated)
