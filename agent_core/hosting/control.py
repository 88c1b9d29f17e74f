"""What other processes of the same user may do with the sessions hosted here: the control socket's handlers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from agent_core.agent.session import Session, TurnHandle
from agent_core.clock import rfc3339
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
from agent_core.hosting.observers import EventTap, Observers
from agent_core.hosting.recent import RunningText
from agent_core.text import to_json
from agent_core.turns.approval import Decision
from agent_core.turns.events import title_of

_LATEST_TURNS = 20
Result = TypeVar("Result")


class HostedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with what shows it. `client` and `project` as in its telemetry; `starts`: whether a turn may be started
    from outside."""

    session: Session
    observers: Observers
    events: EventTap
    client: str
    project: str | None
    starts: bool


class HostedSessions:
    """The sessions of one process by id; owned by whoever opens the control server. `join` at the end."""

    def __init__(self, *sessions: HostedSession) -> None:
        self._sessions = {hosted.session.id: hosted for hosted in sessions}
        self._saying = {hosted.session.id: RunningText() for hosted in sessions}
        for hosted in sessions:
            hosted.observers.add(self._saying[hosted.session.id])
        self._begun: set[asyncio.Task[Any]] = set()
        self.attached = 0
        """How many follow one of the sessions from outside at the moment."""

    async def join(self) -> None:
        """Wait for what was begun and must not be left half done."""
        if self._begun:
            await asyncio.wait(self._begun)

    def handlers(self) -> Handlers:
        return Handlers(
            list_sessions=self._list,
            attach=self._attach,
            answer=self._answer,
            reply=self._reply,
            cancel=self._cancel,
            steer=self._steer,
            start=self._start,
            say=self._say,
            undo=self._undo,
            compact=self._compact,
        )

    async def _list(self) -> list[SessionInfo]:
        return [_info(hosted) for hosted in self._sessions.values()]

    async def _attach(self, session_id: str, push: Push, push_event: Push | None) -> Detach:
        hosted = self._hosted(session_id)
        if (said := self._saying[session_id].so_far()) is not None:
            push(to_json(said))
        leave = [hosted.observers.add(lambda event: push(to_json(event)))]
        if push_event is not None:
            leave.append(hosted.events.add(push_event))

        self.attached += 1

        def detach() -> None:
            self.attached -= 1
            for each in leave:
                each()

        return detach

    async def _answer(self, approval: str, decision: Decision, by: str) -> None:
        if not any(
            hosted.session.approvals.answer(approval, decision, by=by or "control")
            for hosted in self._sessions.values()
        ):
            raise ControlError(f"approval {approval} is not open", code="control_not_found")

    async def _reply(self, question: str, text: str, by: str) -> None:
        if not any(
            hosted.session.questions.answer(question, text, by=by or "control") for hosted in self._sessions.values()
        ):
            raise ControlError(f"question {question} is not open", code="control_not_found")

    async def _cancel(self, turn: str) -> None:
        if not any(hosted.session.cancel(turn) for hosted in self._sessions.values()):
            raise ControlError(f"turn {turn} does not run", code="control_not_found")

    async def _steer(self, turn: str, text: str) -> Steered:
        for hosted in self._sessions.values():
            if any(handle.turn == turn for handle in hosted.session.turns):
                given = hosted.session.steer(turn, text)
                return Steered(input_id=given.input_id, fate=given.fate)
        raise ControlError(f"no turn {turn}", code="control_not_found")

    async def _start(self, asked: StartRequest) -> Started:
        hosted = self._hosted(asked.session)
        self._check_starts(hosted)
        return Started(turn=hosted.session.start_turn(asked.task, turn_id=asked.turn, options=asked.options).turn)

    async def _say(self, asked: SayRequest) -> Said:
        hosted = self._hosted(asked.session)
        given = await hosted.session.tell(asked.text)
        if given is not None:
            return Said(turn=given[0].turn, fate="steered", input_id=given[1].input_id)
        self._check_starts(hosted)
        return Said(turn=hosted.session.start_turn(asked.text, options=asked.options).turn, fate="started")

    async def _undo(self, request: UndoRequest) -> Undone:
        """Begun once, it ends: also if whoever asked leaves or does not wait."""
        return await self._to_its_end(self._take_back(request), f"undo {request.turn}")

    async def _compact(self, session_id: str) -> None:
        """Begun once, it ends, too."""
        await self._to_its_end(self._hosted(session_id).session.compact(), f"compact {session_id}")

    async def _to_its_end(self, work: Coroutine[Any, Any, Result], name: str) -> Result:
        task = asyncio.create_task(work, name=name)
        self._begun.add(task)
        task.add_done_callback(self._over)
        return await asyncio.shield(task)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            task.exception()  # told to whoever asked; if they left, to nobody

    async def _take_back(self, request: UndoRequest) -> Undone:
        session = self._hosted(request.session).session
        report = await session.undo(request.turn, files=request.files, conversation=request.conversation)
        return Undone(
            turn=report.turn,
            undo=report.undo,
            restored=tuple(UndoneFile(path=file.path, what=file.what) for file in report.restored),
            conflicts=tuple(
                UndoConflict(path=clash.path, reason=clash.reason, first=clash.first, last=clash.last)
                for clash in report.conflicts
            ),
            not_covered=report.not_covered,
        )

    def _hosted(self, session_id: str) -> HostedSession:
        hosted = self._sessions.get(session_id)
        if hosted is None:
            raise ControlError(f"no session {session_id}", code="control_not_found")
        return hosted

    def _check_starts(self, hosted: HostedSession) -> None:
        if not hosted.starts:
            text = "the process that hosts the session does one task and then ends"
            raise ControlError(text, code="control_ending", hint="try again in a moment; the session is free then")


def _info(hosted: HostedSession) -> SessionInfo:
    session = hosted.session
    return SessionInfo(
        session=session.id,
        client=hosted.client,
        title=title_of(session.turns[0].task) if session.turns else "",
        model=session.model,
        project=hosted.project,
        turns=tuple(_turn_info(handle) for handle in session.turns[-_LATEST_TURNS:]),
        approvals=tuple(session.approvals.pending()),
        questions=tuple(session.questions.pending()),
    )


def _turn_info(handle: TurnHandle) -> TurnInfo:
    status = handle.done.result().status if handle.done.done() and not handle.done.cancelled() else "running"
    return TurnInfo(turn=handle.turn, title=title_of(handle.task), status=status, started=rfc3339(handle.started_ns))
