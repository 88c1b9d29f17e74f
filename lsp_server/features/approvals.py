"""Answers to questions, by command; and asking this editor's user what another process wants to know."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

from agent_core.agent.approvals.policy import Question
from agent_core.control.messages import ApprovalInfo, ControlError
from agent_core.errors import LooplineError, UsageError
from agent_core.tools.port import Kind
from agent_core.turns import events as up
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

    async def answer(asked: ApprovalAnswer, token: int | str | None) -> None:
        for session in server.desk.sessions.values():
            if isinstance(session, LiveSession):
                if session.answer(asked.approval_id, asked.decision):
                    return
            elif asked.approval_id in session.approvals:
                await told(session.answer(asked.approval_id, asked.decision))
                return
        if asked.approval_id in closed:
            return
        if not await told(server.desk.answer_elsewhere(asked.approval_id, asked.decision)):
            raise UsageError(f"there is no approval {asked.approval_id[:80]!r}", code="unknown_approval")
        closed.append(asked.approval_id)

    async def told(answering: Coroutine[Any, Any, bool | None]) -> bool | None:
        """True as well if somebody else was quicker."""
        try:
            return await answering
        except ControlError as error:
            if error.code != "control_not_found":
                raise
            return True

    async def ask(remote: RemoteSession, info: ApprovalInfo) -> None:
        question = Question(
            approval=info.approval,
            kind=cast(Kind, info.kind),
            name=info.name,
            subject=info.subject,
            rule=info.rule,
            always=info.always,
        )
        try:
            with contextlib.suppress(LooplineError):  # it was answered elsewhere, or one of the two is gone
                await remote.answer(info.approval, await server.ask(question))
        finally:
            asking.pop(info.approval, None)

    def attached(remote: RemoteSession) -> None:
        for info in remote.approvals.values():
            if info.approval not in asking:
                asking[info.approval] = server.spawn(ask(remote, info), "ask for another process")

    def updated(session: str, update: up.Update) -> None:
        known = server.desk.sessions.get(session)
        if isinstance(update, up.ApprovalEnded):
            closed.append(update.approval)
            if update.approval in asking:
                asking[update.approval].cancel()
        elif isinstance(update, up.ApprovalAsked) and isinstance(known, RemoteSession):
            attached(known)

    server.on_command("loopline.approval.answer", ApprovalAnswer, answer)
    server.when_attached.append(attached)
    server.when_updated.append(updated)
