"""Answers to approvals, by command, wherever they are open."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agent_core.errors import UsageError
from agent_core.turns import events as up
from lsp_server.protocol.methods import ApprovalAnswer

if TYPE_CHECKING:
    from lsp_server.server import LoopServer

REMEMBERED = 200
"""Closed approvals that may be answered again without an error."""


def register(server: LoopServer) -> None:
    closed: deque[str] = deque(maxlen=REMEMBERED)

    async def answer(given: ApprovalAnswer, token: int | str | None) -> None:
        if given.approval_id in closed:
            return
        if not await server.process.manager.answer(given.approval_id, given.decision, by=server.front_end.name):
            raise UsageError(f"there is no approval {given.approval_id[:80]!r}", code="unknown_approval")
        closed.append(given.approval_id)

    def updated(session: str, event: up.TurnEvent) -> None:
        if isinstance(event, up.ApprovalEnded):
            closed.append(event.approval_id)

    server.on_command("loopline.approval.answer", ApprovalAnswer, answer)
    server.when_updated.append(updated)
