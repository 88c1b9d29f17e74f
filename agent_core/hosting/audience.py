"""Whom a session works for, wherever it is hosted: its turns as they stand, who follows it, and who is asked.

It stays the same when the session moves from one host to another, so nobody has to subscribe again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from agent_core.clock import Clock
from agent_core.errors import LooplineError
from agent_core.hosting.observers import Observers, Sinks
from agent_core.hosting.port import FrontEnd, FrontEndGone
from agent_core.hosting.queue import TurnList
from agent_core.hosting.recent import RunningText
from agent_core.telemetry.emitter import Sink
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.tools.workspace.workspace import Documents, OpenDocument
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import (
    ApprovalAsked,
    ContextSize,
    EndStatus,
    Notice,
    Observer,
    SessionOpened,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from agent_core.turns.question import Question, Replier
from agent_core.turns.views import TurnView

MAX_ENDS = 50
"""Ends of turns that are kept whole; of older ones status and text."""


class Audience:
    """Owned by the session's one `ManagedSession`; its present host tells it every event."""

    def __init__(self, session_id: str, clock: Clock) -> None:
        self.id, self.created = session_id, ""
        self.turns = TurnList(session_id, clock)
        self.sinks = Sinks()
        self.front_end: FrontEnd | None = None
        self._attended = asyncio.Event()
        self._observers = Observers()
        self._opened: SessionOpened | None = None
        self._size: ContextSize | None = None
        self._text = RunningText()
        self._ends: dict[str, TurnEnded] = {}
        self._waiting: dict[str, asyncio.Future[TurnEnded]] = {}

    # Telling

    def tell(self, event: TurnEvent) -> None:
        """Keep what the event says, then hand it on to everybody who follows."""
        self.turns.note(event)
        self._text(event)
        if isinstance(event, SessionOpened):
            self._opened = event
        elif isinstance(event, ContextSize):
            self._size = event
        elif isinstance(event, TurnEnded):
            self._keep_end(event)
        self._observers(event)

    def refuse(self, error: LooplineError) -> None:
        """Say why something that was asked for does not happen."""
        self.tell(Notice(severity="error", text=in_words(error), session_id=self.id))

    def end(self, turn: TurnView, status: EndStatus, text: str) -> None:
        """End a turn that never began."""
        self.tell(self.turns.began(turn))
        self.tell(self.turns.ended(turn, status, text))

    def fail(self, turn: TurnView, error: LooplineError) -> None:
        """End a turn that can't begin."""
        self.tell(self.turns.began(turn))
        self.tell(self.turns.ended(turn, "failed", in_words(error), error))

    def interrupt(self) -> None:
        """The process that ran the turn is gone."""
        for turn in self.turns.open:
            if turn.status == "running":
                self.tell(self.turns.ended(turn, "interrupted", "the process that ran it is gone"))

    def _keep_end(self, event: TurnEnded) -> None:
        self._ends[event.turn_id] = event
        if len(self._ends) > MAX_ENDS:
            del self._ends[next(iter(self._ends))]
        waiting = self._waiting.pop(event.turn_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(event)

    # Following

    def subscribe(
        self, observer: Observer, sink: Sink | None, approvals: Sequence[Approval] | None
    ) -> Callable[[], None]:
        """From now on; call what is returned to stop. `approvals` given: first how things stand, with these open."""
        leave = [self._observers.add(observer)]
        if sink is not None:
            leave.append(self.sinks.add(sink))
        if approvals is not None:
            for event in self._so_far(approvals):
                observer(event)

        def stop() -> None:
            for each in leave:
                each()

        return stop

    def _so_far(self, approvals: Sequence[Approval]) -> list[TurnEvent]:
        running = [turn for turn in self.turns if turn.status == "running"]
        begun = [
            TurnBegan(session_id=self.id, turn_id=turn.turn_id, title=turn.title, task=turn.task) for turn in running
        ]
        text = self._text.so_far()
        return [
            *([self._opened] if self._opened is not None else ()),
            *([self._size] if self._size is not None else ()),
            *begun,
            *([text] if text is not None else ()),
            *(ApprovalAsked(approval=approval) for approval in approvals),
        ]

    async def ended(self, turn_id: str) -> TurnEnded:
        """Raises UsageError (`unknown_turn`), LooplineError once the session is closed before that."""
        turn = self.turns.known(turn_id)
        if turn.is_over:
            status: EndStatus = msgspec.convert(turn.status, EndStatus)
            return self._ends.get(turn_id) or self.turns.ended(turn, status, turn.text)
        waiting = self._waiting.setdefault(turn_id, asyncio.get_running_loop().create_future())
        return await asyncio.shield(waiting)

    def close(self) -> None:
        """Nothing more will come."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LooplineError("the session was closed before the turn ended"))
                waiting.exception()  # whoever waited is told; where nobody did, nothing is lost
        self._waiting.clear()

    # Asking

    def attend(self, front_end: FrontEnd) -> None:
        if self.front_end is front_end:
            return
        self.front_end = front_end
        self._attended.set()
        self._attended = asyncio.Event()

    def leave(self, front_end: FrontEnd) -> None:
        if self.front_end is front_end:
            self.front_end = None

    async def ask(self, approval: Approval) -> tuple[Decision | None, str]:
        """Ask whoever attends, and tell who answered; while nobody attends, wait for one. Cancelled once somebody else
        answered."""
        while True:
            came, front_end = asyncio.ensure_future(self._attended.wait()), self.front_end
            asking = asyncio.ensure_future(front_end.ask(approval)) if front_end is not None else None
            waiting: set[asyncio.Future[Any]] = {came} if asking is None else {came, asking}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if asking is not None and front_end is not None and asking.done():
                    return asking.result(), front_end.name
            except FrontEndGone:
                if front_end is not None:
                    self.leave(front_end)
            finally:
                for future in waiting:
                    future.cancel()

    @property
    def answers(self) -> bool:
        """Whether whoever attends can answer what the model asks."""
        return _replier(self.front_end) is not None

    async def put(self, question: Question) -> str | None:
        """Put a question to whoever attends; while nobody can answer, wait for one. Cancelled once it is answered."""
        while True:
            came, replier = asyncio.ensure_future(self._attended.wait()), _replier(self.front_end)
            asking = asyncio.ensure_future(replier.put(question)) if replier is not None else None
            waiting: set[asyncio.Future[Any]] = {came} if asking is None else {came, asking}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if asking is not None and asking.done():
                    return asking.result()
            finally:
                for future in waiting:
                    future.cancel()

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return await self.front_end.diagnostics(path) if self.front_end is not None else ()

    @property
    def edits(self) -> bool:
        """Whether the front end is an editor, whose buffers and findings count. While none attends one may come."""
        return self.front_end is None or self.front_end.documents is not None

    @property
    def documents(self) -> Documents:
        return _AttendingDocuments(self)


def _replier(front_end: object) -> Replier | None:
    """The front end as one whose user can be asked something now, if it is."""
    return front_end if isinstance(front_end, Replier) and front_end.answers else None


class _AttendingDocuments:
    """The open documents of whichever front end attends at the moment."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience

    def _now(self) -> Documents | None:
        front_end = self._audience.front_end
        return front_end.documents if front_end is not None else None

    async def look(self, path: str) -> None:
        documents = self._now()
        if documents is not None:
            await documents.look(path)

    def get(self, path: str) -> OpenDocument | None:
        documents = self._now()
        return documents.get(path) if documents is not None else None

    def opened(self) -> Mapping[str, OpenDocument]:
        documents = self._now()
        return documents.opened() if documents is not None else {}

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        documents = self._now()
        return documents is not None and await documents.replace(path, base_version, content)


def in_words(error: LooplineError) -> str:
    """An error with its hint, on one line."""
    return error.message + (f" ({error.hint})" if error.hint else "")
