"""A host behind a real control socket whose sessions, turns and approvals are told by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from agent_core.control.messages import ApprovalInfo, ControlError, Decision, SessionInfo, Steered, TurnInfo
from agent_core.control.server import Detach, Handlers, Push

OPENED = "2026-11-30T00:53:20.000000Z"


class HandHost:
    """Keeps what was asked of it, and pushes updates when told."""

    def __init__(self, session: str = "sess_1", turn: str = "turn_1", approval: str | None = "appr_1") -> None:
        self.session, self.turn, self.approval = session, turn, approval
        self.title, self.subject = "fix date parsing", "rm -rf build"
        self.answers: list[tuple[str, Decision]] = []
        self.cancelled: list[str] = []
        self.steered: list[tuple[str, str]] = []
        self.pushes: list[Push] = []
        self.left = asyncio.Event()

    def handlers(self) -> Handlers:
        return Handlers(
            list_sessions=self.list_sessions,
            attach=self.attach,
            answer=self.answer,
            cancel=self.cancel,
            steer=self.steer,
        )

    async def list_sessions(self) -> Sequence[SessionInfo]:
        approvals: tuple[ApprovalInfo, ...] = ()
        if self.approval is not None:
            approvals = (
                ApprovalInfo(
                    approval=self.approval, turn=self.turn, kind="command", name="shell", subject=self.subject,
                    opened=OPENED,
                ),
            )  # fmt: skip
        turn = TurnInfo(turn=self.turn, title=self.title, status="running", started=OPENED)
        return [SessionInfo(session=self.session, client="cli", title=self.title, turns=(turn,), approvals=approvals)]

    async def attach(self, session: str, push: Push) -> Detach:
        if session != self.session:
            raise ControlError(f"no session {session}", code="control_not_found")
        self.pushes.append(push)

        def detach() -> None:
            self.pushes.remove(push)
            self.left.set()

        return detach

    async def answer(self, approval: str, decision: Decision) -> None:
        if approval != self.approval:
            raise ControlError(f"approval {approval} is not open", code="control_not_found")
        self.answers.append((approval, decision))
        self.approval = None

    async def cancel(self, turn: str) -> None:
        if turn != self.turn:
            raise ControlError(f"no turn {turn}", code="control_not_found")
        self.cancelled.append(turn)

    async def steer(self, turn: str, text: str) -> Steered:
        self.steered.append((turn, text))
        return Steered(input_id="in_1", fate="steered")

    def push(self, update: object) -> None:
        for push in self.pushes:
            push(msgspec.json.encode(update))
