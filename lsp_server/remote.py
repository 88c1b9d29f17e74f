"""A session that another process hosts, seen over its control socket: watched, answered, cancelled and steered here.

Turns are started there, one after the other. Those that wait are kept here, and come along if the session is taken
over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

from agent_core.clock import Clock, new_id, rfc3339
from agent_core.control.client import Attachment, ControlClient
from agent_core.control.messages import ControlError, EventMessage, SessionInfo, UpdateMessage
from agent_core.errors import LooplineError, UsageError
from agent_core.telemetry.codec import decode_event
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import (
    ApprovalAsked,
    ApprovalEnded,
    EndStatus,
    Notice,
    Observer,
    TurnBegan,
    TurnEnded,
    TurnEvent,
    TurnStatus,
    TurnUndone,
    read_event,
)
from lsp_server.figures import CallWatch
from lsp_server.live import Asked
from lsp_server.protocol.events import AnyEvent
from lsp_server.protocol.methods import Steered
from lsp_server.recent import Recent

_STATUS: Mapping[str, TurnStatus] = {
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}


RETRY_S = 1.0
"""How long after a refused start the next try comes at the latest."""


class RemoteSession:
    """`attach` first. `lost` is called once the host or the session is gone."""

    def __init__(
        self, session: str, socket: Path, lost: Callable[[RemoteSession], Awaitable[None]], clock: Clock
    ) -> None:
        self.id, self.title, self.created, self.model = session, "", "", ""
        self.turns: list[Asked] = []
        self.approvals: dict[str, Approval] = {}
        self._watchers: list[Observer] = []
        self._event_watchers: list[Callable[[AnyEvent], None]] = []
        self._undone: set[str] = set()
        self.recent = Recent()
        self._waiting: deque[Asked] = deque()
        self._changed = asyncio.Event()
        self._socket, self._lost, self._clock = socket, lost, clock
        self._figures = CallWatch(clock, self._tell, lambda state: None)
        self._stack = AsyncExitStack()
        self._client: ControlClient | None = None
        self._work: list[asyncio.Task[None]] = []

    async def attach(self) -> None:
        """Raises ControlError."""
        client = await self._stack.enter_async_context(ControlClient(self._socket))
        try:
            attachment = await client.attach(self.id, events=True)
            found = [info for info in await client.list_sessions() if info.session == self.id]
            if not found:
                raise ControlError(f"session {self.id} is not hosted there", code="control_not_found")
        except ControlError:
            await self._stack.aclose()
            raise
        self._client = client
        self._take(found[0])
        self._work = [
            asyncio.create_task(self._follow(attachment), name=f"attached {self.id}"),
            asyncio.create_task(self._start_turns(), name=f"turns of {self.id}"),
        ]

    def watch(self, observer: Observer, put: Callable[[AnyEvent], None]) -> Callable[[], None]:
        """Every turn event, and every figure, from now on; call what is returned to stop."""
        self._watchers.append(observer)
        self._event_watchers.append(put)

        def stop() -> None:
            self._watchers = [other for other in self._watchers if other is not observer]
            self._event_watchers = [other for other in self._event_watchers if other is not put]

        return stop

    def start(self, task: str, title: str) -> Asked:
        """It is started once nothing else runs."""
        asked = Asked(turn=new_id("turn"), title=title, task=task, started=rfc3339(self._clock.wall_ns()))
        self.title = self.title or title
        self.enqueue(asked)
        return asked

    def enqueue(self, asked: Asked) -> None:
        """A turn that waits to be started."""
        if self.turn(asked.turn) is None:
            self.turns.append(asked)
        self._waiting.append(asked)
        self._changed.set()

    def give_up(self) -> None:
        """Nobody hosts the session any more: what waits will not be done."""
        for asked in self.waiting:
            self._end(asked, "failed", "the process that hosted the session is gone, and it could not be taken over")

    def knows(self, turn: str) -> bool:
        """Whether it is a turn, or the undoing of one, of this session."""
        return turn in self._undone or self.turn(turn) is not None

    @property
    def waiting(self) -> list[Asked]:
        """Turns that were asked for here and did not begin."""
        return [asked for asked in self._waiting if asked.status == "queued"]

    def turn(self, turn: str) -> Asked | None:
        return next((asked for asked in self.turns if asked.turn == turn), None)

    async def cancel(self, turn: str) -> None:
        """Raises UsageError or ControlError."""
        asked = self._known(turn)
        if asked.status == "running":
            await self._speak().cancel(turn)
        elif asked.status == "queued":
            self._end(asked, "cancelled", "cancelled")

    async def steer(self, turn: str, text: str) -> Steered:
        """Raises UsageError or ControlError."""
        asked = self._known(turn)
        if asked.status == "queued":
            asked.task += f"\n\n{text}"
            return Steered(input_id=new_id("inp"), fate="queued")
        given = await self._speak().steer(turn, text)
        return Steered(input_id=given.input_id, fate=given.fate)

    async def undo(self, turn: str) -> None:
        """Take back what a turn did to files; what comes of it is published. Never raises."""
        try:
            await self._speak().undo(self.id, turn)
        except LooplineError as error:
            if error.code != "control_busy":  # it takes long, and goes on
                self._publish(Notice(severity="error", text=_words(error), session_id=self.id))

    async def answer(self, approval: str, decision: Decision) -> None:
        """Raises ControlError."""
        await self._speak().answer(approval, decision, by="lsp")

    async def close(self) -> None:
        """Watch no more; the session goes on where it is hosted."""
        for task in self._work:
            task.cancel()
        if self._work:
            await asyncio.wait(self._work)
        with contextlib.suppress(ControlError):
            await self._stack.aclose()

    def _take(self, info: SessionInfo) -> None:
        self.title, self.model = info.title, info.model or ""
        self.approvals = {approval.approval_id: approval for approval in info.approvals}
        self.turns = turns_of(info)
        for asked in self.turns[-1:]:
            self.recent.put(TurnBegan(session_id=self.id, turn_id=asked.turn, title=asked.title))

    async def _start_turns(self) -> None:
        """One after the other; while a turn runs there, or the host only waits for its end, nothing is started."""
        while True:
            self._changed.clear()
            running = any(asked.status == "running" for asked in self.turns)
            if self._waiting and self._waiting[0].status != "queued":
                self._waiting.popleft()
            elif not self._waiting or running:
                await self._changed.wait()
            elif not await self._begun(self._waiting[0]):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S):
                        await self._changed.wait()

    async def _begun(self, asked: Asked) -> bool:
        """Start a turn there. False: not yet."""
        try:
            await self._speak().start(self.id, asked.task, turn=asked.turn)
        except LooplineError as error:
            if error.code in ("turn_running", "control_ending", "control_gone"):
                return False
            self._end(asked, "failed", _words(error))
        else:
            if asked.status == "queued":
                asked.status = "running"
        return True

    async def _follow(self, attachment: Attachment) -> None:
        async for item in attachment:
            if isinstance(item, EventMessage):
                figure = decode_event(bytes(item.event))
                if figure is not None:
                    self._figures.emit(figure)
                continue
            if not isinstance(item, UpdateMessage):
                text = f"{item.lost} updates of the session were left out"
                self._publish(Notice(severity="warning", text=text, session_id=self.id))
                continue
            event = read_event(item.update)
            if event is None:  # of a newer version
                continue
            self._note(event)
            self._publish(event)
        self._work.pop().cancel()
        for asked in self.turns:
            if asked.status == "running":
                self._publish(self._ended(asked, "interrupted", "the process that ran it is gone"))
        with contextlib.suppress(ControlError):
            await self._stack.aclose()
        await self._lost(self)

    def _note(self, event: TurnEvent) -> None:
        """Keep turns and approvals as they are at the host."""
        match event:
            case TurnBegan(turn_id=turn) if (known := self.turn(turn)) is not None:
                known.status = "running"
            case TurnBegan(turn_id=turn, title=title):
                self.title = self.title or title
                self.turns.append(Asked(turn=turn, title=title, task=title, started="", status="running"))
            case ApprovalAsked(approval=approval):
                self.approvals[approval.approval_id] = approval
            case ApprovalEnded(approval_id=approval_id):
                self.approvals.pop(approval_id, None)

    def _publish(self, event: TurnEvent) -> None:
        if isinstance(event, TurnEnded) and (asked := self.turn(event.turn_id)) is not None:
            asked.status, asked.text = event.status, event.text
            self._changed.set()
        elif isinstance(event, TurnUndone) and event.undo_id is not None:
            self._undone.add(event.undo_id)
        self.recent.put(event)
        for watcher in tuple(self._watchers):
            watcher(event)

    def _tell(self, event: AnyEvent) -> None:
        self.recent.put(event)
        for put in tuple(self._event_watchers):
            put(event)

    def _end(self, asked: Asked, status: Literal["failed", "cancelled"], text: str) -> None:
        """End a turn that never began."""
        self._publish(TurnBegan(session_id=self.id, turn_id=asked.turn, title=asked.title, task=asked.title))
        self._publish(self._ended(asked, status, text))

    def _ended(self, asked: Asked, status: EndStatus, text: str) -> TurnEnded:
        return TurnEnded(session_id=self.id, turn_id=asked.turn, status=status, text=text, duration_ms=0.0)

    def _speak(self) -> ControlClient:
        if self._client is None:
            raise ControlError(f"session {self.id}: not attached", code="control_gone")
        return self._client

    def _known(self, turn: str) -> Asked:
        asked = self.turn(turn)
        if asked is None:
            raise UsageError(f"there is no turn {turn[:80]!r}", code="unknown_turn")
        return asked


def turns_of(info: SessionInfo) -> list[Asked]:
    """The latest turns of a session, as its host tells them."""
    return [
        Asked(
            turn=turn.turn,
            title=turn.title,
            task=turn.title,
            started=turn.started,
            status=_STATUS.get(turn.status, "interrupted"),
        )
        for turn in info.turns
    ]


def _words(error: LooplineError) -> str:
    return error.message + (f" ({error.hint})" if error.hint else "")
