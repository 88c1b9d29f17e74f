"""A host behind a real control socket whose sessions, turns and approvals are told by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from agent_core.control.messages import (
    ControlError,
    Said,
    SayRequest,
    SessionInfo,
    Started,
    StartRequest,
    Steered,
    TurnInfo,
    UndoConflict,
    Undone,
    UndoneFile,
    UndoRequest,
)
from agent_core.control.server import Detach, Handlers, Push
from agent_core.turns.approval import Approval, Decision

OPENED = "2026-11-30T00:53:20.000000Z"


class HandHost:
    """Keeps what was asked of it, and pushes updates when told."""

    def __init__(self, session: str = "sess_1", turn: str = "turn_1", approval: str | None = "appr_1") -> None:
        self.session, self.turn, self.approval = session, turn, approval
        self.title, self.subject = "fix date parsing", "rm -rf build"
        self.answers: list[tuple[str, Decision]] = []
        self.replies: list[tuple[str, str]] = []
        self.cancelled: list[str] = []
        self.steered: list[tuple[str, str]] = []
        self.started: list[tuple[str, str, str | None]] = []
        self.undone: list[UndoRequest] = []
        self.compacted: list[str] = []
        self.pushes: list[Push] = []
        self.event_pushes: list[Push] = []
        self.left = asyncio.Event()

    def handlers(self) -> Handlers:
        return Handlers(
            list_sessions=self.list_sessions,
            attach=self.attach,
            answer=self.answer,
            reply=self.reply,
            cancel=self.cancel,
            steer=self.steer,
            start=self.start,
            say=self.say,
            undo=self.undo,
            compact=self.compact,
        )

    async def compact(self, session: str) -> None:
        self.compacted.append(session)

    async def list_sessions(self) -> Sequence[SessionInfo]:
        approvals: tuple[Approval, ...] = ()
        if self.approval is not None:
            approvals = (
                Approval(
                    approval_id=self.approval, session_id=self.session, turn_id=self.turn, kind="command", name="shell",
                    subject=self.subject,
                    opened=OPENED,
                ),
            )  # fmt: skip
        turn = TurnInfo(turn=self.turn, title=self.title, status="running", started=OPENED)
        return [SessionInfo(session=self.session, client="cli", title=self.title, turns=(turn,), approvals=approvals)]

    async def attach(self, session: str, push: Push, push_event: Push | None) -> Detach:
        if session != self.session:
            raise ControlError(f"no session {session}", code="control_not_found")
        self.pushes.append(push)
        if push_event is not None:
            self.event_pushes.append(push_event)

        def detach() -> None:
            self.pushes.remove(push)
            self.left.set()

        return detach

    async def reply(self, question: str, text: str, by: str) -> None:
        self.replies.append((question, text))

    async def answer(self, approval: str, decision: Decision, by: str) -> None:
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

    async def start(self, asked: StartRequest) -> Started:
        self.started.append((asked.session, asked.task, asked.turn))
        return Started(turn=asked.turn or "turn_2")

    async def say(self, asked: SayRequest) -> Said:
        self.started.append((asked.session, asked.text, None))
        return Said(turn="turn_2", fate="started")

    async def undo(self, request: UndoRequest) -> Undone:
        self.undone.append(request)
        clash = UndoConflict(path="b.py", reason="changed since", first=3, last=4)
        return Undone(
            turn=request.turn, undo="undo_1", restored=(UndoneFile(path="a.py", what="changed"),), conflicts=(clash,)
        )

    def push_event(self, event: object) -> None:
        for push in self.event_pushes:
            push(msgspec.json.encode(event))

    def push(self, update: object) -> None:
        for push in self.pushes:
            push(msgspec.json.encode(update))
