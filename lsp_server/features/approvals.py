"""Answers to approvals and to questions of the model, by command, wherever they are open."""

from __future__ import annotations

from collections import deque

from agent_core.errors import UsageError
from agent_core.turns import events as up
from lsp_server.editor import Editor
from lsp_server.protocol.methods import ApprovalAnswer, QuestionAnswer
from lsp_server.rpc.routes import Routes

REMEMBERED = 200
"""Closed approvals that may be answered again without an error."""


def register(editor: Editor, routes: Routes) -> None:
    closed: deque[str] = deque(maxlen=REMEMBERED)

    async def answer(given: ApprovalAnswer, token: int | str | None) -> None:
        if given.approval_id in closed:
            return
        if not await editor.process.manager.answer(given.approval_id, given.decision, by=editor.front_end.name):
            raise UsageError(f"there is no approval {given.approval_id[:80]!r}", code="unknown_approval")
        closed.append(given.approval_id)

    async def reply(given: QuestionAnswer, token: int | str | None) -> None:
        if given.question_id in closed:
            return
        if not await editor.process.manager.reply(given.question_id, given.answer, by=editor.front_end.name):
            raise UsageError(f"there is no question {given.question_id[:80]!r}", code="unknown_question")

    def updated(session: str, event: up.TurnEvent) -> None:
        if isinstance(event, up.ApprovalEnded):
            closed.append(event.approval_id)
        elif isinstance(event, up.QuestionEnded):
            closed.append(event.question_id)

    routes.on_command("loopline.approval.answer", ApprovalAnswer, answer)
    routes.on_command("loopline.question.answer", QuestionAnswer, reply)
    editor.bus.updated.add(updated)
