"""What other processes of the same user may do with the sessions hosted here: the control socket's handlers."""

from __future__ import annotations

import msgspec

from agent_core.agent.approvals import Decision
from agent_core.agent.session import Session, TurnHandle
from agent_core.agent.updates import Update
from agent_core.clock import rfc3339
from agent_core.control.messages import ApprovalInfo, ControlError, SessionInfo, Steered, TurnInfo
from agent_core.control.server import Detach, Handlers, Push
from agent_core.runtime.fronts import Fronts

_LATEST_TURNS = 20


class HostedSessions:
    """The sessions of one process by id, with their fronts; owned by whoever opens the control server."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[Session, Fronts, str, str | None]] = {}

    def add(self, session: Session, fronts: Fronts, client: str, project: str | None) -> None:
        self._sessions[session.id] = (session, fronts, client, project)

    def remove(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    def handlers(self) -> Handlers:
        return Handlers(
            list_sessions=self._list,
            attach=self._attach,
            answer=self._answer,
            cancel=self._cancel,
            steer=self._steer,
        )

    async def _list(self) -> list[SessionInfo]:
        return [
            SessionInfo(
                session=session.id,
                client=client,
                title=_first_line(session.turns[0].task) if session.turns else "",
                model=session.model,
                project=project,
                turns=tuple(_turn_info(handle) for handle in session.turns[-_LATEST_TURNS:]),
                approvals=tuple(
                    ApprovalInfo(
                        approval=pending.question.approval,
                        turn=pending.turn,
                        kind=pending.question.kind,
                        name=pending.question.name,
                        subject=pending.question.subject,
                        opened=rfc3339(pending.opened_ns),
                    )
                    for pending in session.questions.pending()
                ),
            )
            for session, _, client, project in self._sessions.values()
        ]

    async def _attach(self, session_id: str, push: Push) -> Detach:
        entry = self._sessions.get(session_id)
        if entry is None:
            raise ControlError(f"no session {session_id}", code="control_not_found")

        def front(update: Update) -> None:
            push(msgspec.json.encode(update))

        return entry[1].add(front)

    async def _answer(self, approval: str, decision: Decision) -> None:
        if not any(entry[0].questions.answer(approval, decision) for entry in self._sessions.values()):
            raise ControlError(f"approval {approval} is not open", code="control_not_found")

    async def _cancel(self, turn: str) -> None:
        if not any(entry[0].cancel(turn) for entry in self._sessions.values()):
            raise ControlError(f"turn {turn} does not run", code="control_not_found")

    async def _steer(self, turn: str, text: str) -> Steered:
        for session, *_ in self._sessions.values():
            if any(handle.turn == turn for handle in session.turns):
                given = session.steer(turn, text)
                return Steered(input_id=given.input_id, fate=given.fate)
        raise ControlError(f"no turn {turn}", code="control_not_found")


def _turn_info(handle: TurnHandle) -> TurnInfo:
    status = handle.done.result().status if handle.done.done() and not handle.done.cancelled() else "running"
    return TurnInfo(turn=handle.turn, title=_first_line(handle.task), status=status, started=rfc3339(handle.started_ns))


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]
