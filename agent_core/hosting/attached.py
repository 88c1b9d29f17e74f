"""A session that another process hosts, followed over its control socket: watched, answered, cancelled and steered.

Turns are started there, one after the other. Those that wait are kept here, and come along if the session is taken
over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

from agent_core.clock import Clock, new_id
from agent_core.control.client import Attachment, ControlClient
from agent_core.control.messages import ControlError, EventMessage, SessionInfo, UpdateMessage
from agent_core.errors import LooplineError
from agent_core.hosting.observers import Observers, Sinks
from agent_core.hosting.port import FrontEnd
from agent_core.hosting.queue import TurnList
from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.emitter import Sink
from agent_core.tools.workspace.changes import Change
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import (
    ApprovalAsked,
    ApprovalEnded,
    Notice,
    Observer,
    TurnEnded,
    TurnEvent,
    TurnStatus,
    read_event,
)
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.turns.views import SessionView, Steered, TurnView

_STATUS: Mapping[str, TurnStatus] = {
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}

RETRY_S = 1.0
"""How long after a refused start the next try comes at the latest."""


class AttachedHost:
    """`attach` first. `lost` is called once the host or the session is gone. Owns the connection and its tasks."""

    def __init__(
        self, session_id: str, socket: Path, lost: Callable[[AttachedHost], Awaitable[None]], clock: Clock
    ) -> None:
        self.id, self._model = session_id, ""
        self._turns = TurnList(session_id, clock)
        self._approvals: dict[str, Approval] = {}
        self._observers, self._sinks = Observers(), Sinks()
        self._front_end: FrontEnd | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._waiting: deque[TurnView] = deque()
        self._changed = asyncio.Event()
        self._socket, self._lost = socket, lost
        self._stack = AsyncExitStack()
        self._client: ControlClient | None = None
        self._undoing: set[asyncio.Task[None]] = set()
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
        self._turns.title, self._model = found[0].title, found[0].model or ""
        self._turns.merge(turns_of(found[0]))
        self._approvals = {approval.approval_id: approval for approval in found[0].approvals}
        self._work = [
            asyncio.create_task(self._follow(attachment), name=f"attached {self.id}"),
            asyncio.create_task(self._start_turns(), name=f"turns of {self.id}"),
        ]

    def give_up(self) -> None:
        """Nobody hosts the session any more: what waits will not be done."""
        for turn in self.waiting:
            self._end(turn, "failed", "the process that hosted the session is gone, and it could not be taken over")

    @property
    def waiting(self) -> list[TurnView]:
        """Turns that were asked for here and did not begin."""
        return [turn for turn in self._waiting if turn.status == "queued"]

    # The port

    @property
    def front_end(self) -> FrontEnd | None:
        return self._front_end

    @property
    def busy(self) -> bool:
        return False  # what runs goes on there; what waits here is not begun

    @property
    def attended(self) -> bool:
        return False

    def view(self) -> SessionView:
        return SessionView(
            session_id=self.id,
            place="attached",
            title=self._turns.title,
            created="",
            model=self._model,
            turns=tuple(self._turns),
            approvals=tuple(self._approvals.values()),
        )

    def turn(self, turn_id: str) -> TurnView | None:
        return self._turns.get(turn_id)

    def knows(self, turn_id: str) -> bool:
        return self._turns.knows(turn_id)

    def submit(self, task: str, *, title: str = "", options: TurnOptions = PLAIN) -> TurnView:
        """It is started once nothing else runs."""
        turn = self._turns.add(task, title, options)
        self._waiting.append(turn)
        self._changed.set()
        return turn

    def take_over(self, turns: Sequence[TurnView]) -> None:
        queued = [turn for turn in turns if turn.status == "queued"]
        self._turns.merge(queued)
        self._waiting.extend(queued)
        self._changed.set()

    async def cancel(self, turn_id: str) -> None:
        """Raises UsageError or ControlError."""
        turn = self._turns.known(turn_id)
        if turn.status == "running":
            await self._speak().cancel(turn_id)
        elif turn.status == "queued":
            self._end(turn, "cancelled", "cancelled")

    async def steer(self, turn_id: str, text: str) -> Steered:
        """Raises UsageError or ControlError."""
        turn = self._turns.known(turn_id)
        if turn.status == "queued":
            turn.task += f"\n\n{text}"
            return Steered(input_id=new_id("inp"), fate="queued")
        return await self._speak().steer(turn_id, text)

    async def undo(self, turn_id: str) -> None:
        task = asyncio.create_task(self._take_back(turn_id), name=f"undo {turn_id} elsewhere")
        self._undoing.add(task)
        task.add_done_callback(self._undoing.discard)

    async def answer(self, approval_id: str, decision: Decision, *, by: str) -> bool:
        """Raises ControlError. True as well where somebody else was quicker."""
        if approval_id not in self._approvals:
            return False
        try:
            await self._speak().answer(approval_id, decision, by=by)
        except ControlError as error:
            if error.code != "control_not_found":
                raise
        return True

    async def changes(self, turn_id: str) -> Sequence[Change]:
        return ()  # told by the checkpoints, which are read whoever hosts

    def place_of(self, shown: str) -> Path | None:
        return None

    def subscribe(self, observer: Observer, sink: Sink) -> Callable[[], None]:
        leave = (self._observers.add(observer), self._sinks.add(sink))

        def stop() -> None:
            for each in leave:
                each()

        return stop

    def attend(self, front_end: FrontEnd) -> None:
        if self._front_end is front_end:
            return
        self._stop_asking()
        self._front_end = front_end
        for approval in self._approvals.values():
            self._ask(approval)

    def leave(self, front_end: FrontEnd) -> None:
        if self._front_end is front_end:
            self._front_end = None
            self._stop_asking()

    def warm(self) -> None:
        return

    def reconfigure(self, *, roots: tuple[Path, ...] | None = None, model: str | None = None) -> None:
        return

    async def cancel_all(self) -> None:
        return

    async def close(self) -> None:
        """Watch no more; the session goes on where it is hosted."""
        self._stop_asking()
        tasks = [*self._work, *self._undoing]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        with contextlib.suppress(ControlError):
            await self._stack.aclose()

    # Asking

    def _ask(self, approval: Approval) -> None:
        front_end, key = self._front_end, approval.approval_id
        if front_end is not None and key not in self._asking:
            self._asking[key] = asyncio.create_task(self._answered(front_end, approval), name=f"ask {key}")

    async def _answered(self, front_end: FrontEnd, approval: Approval) -> None:
        """An answer that came too late, or from a front end that is gone, concerns nobody."""
        try:
            with contextlib.suppress(LooplineError):
                decision = await front_end.ask(approval)
                if decision is not None:
                    await self.answer(approval.approval_id, decision, by=front_end.name)
        finally:
            self._asking.pop(approval.approval_id, None)

    def _stop_asking(self) -> None:
        for task in tuple(self._asking.values()):
            task.cancel()
        self._asking.clear()

    # Starting and following

    async def _start_turns(self) -> None:
        """One after the other; while a turn runs there, or the host only waits for its end, nothing is started."""
        while True:
            self._changed.clear()
            running = any(turn.status == "running" for turn in self._turns)
            if self._waiting and self._waiting[0].status != "queued":
                self._waiting.popleft()
            elif not self._waiting or running:
                await self._changed.wait()
            elif not await self._begun(self._waiting[0]):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S):
                        await self._changed.wait()

    async def _begun(self, turn: TurnView) -> bool:
        """Start a turn there. False: not yet."""
        try:
            await self._speak().start(self.id, turn.task, turn=turn.turn_id, options=turn.options)
        except LooplineError as error:
            if error.code in ("turn_running", "control_ending", "control_gone"):
                return False
            self._end(turn, "failed", _words(error))
        else:
            if turn.status == "queued":
                turn.status = "running"
        return True

    async def _take_back(self, turn_id: str) -> None:
        try:
            await self._speak().undo(self.id, turn_id)
        except LooplineError as error:
            if error.code != "control_busy":  # it takes long, and goes on
                self._tell(Notice(severity="error", text=_words(error), session_id=self.id))

    async def _follow(self, attachment: Attachment) -> None:
        async for item in attachment:
            if isinstance(item, EventMessage):
                figure = decode_event(bytes(item.event))
                if figure is not None:
                    self._sinks.emit(figure)
            elif isinstance(item, UpdateMessage):
                event = read_event(item.update)
                if event is not None:  # else of a newer version
                    self._tell(event)
            else:
                text = f"{item.lost} updates of the session were left out"
                self._tell(Notice(severity="warning", text=text, session_id=self.id))
        self._work.pop().cancel()
        for turn in self._turns.open:
            if turn.status == "running":
                self._tell(self._turns.ended(turn, "interrupted", "the process that ran it is gone"))
        self._stop_asking()
        with contextlib.suppress(ControlError):
            await self._stack.aclose()
        await self._lost(self)

    def _tell(self, event: TurnEvent) -> None:
        """Keep turns and approvals as they are at the host, then hand the event on."""
        self._turns.note(event)
        match event:
            case ApprovalAsked(approval=approval):
                self._approvals[approval.approval_id] = approval
            case ApprovalEnded(approval_id=approval_id):
                self._approvals.pop(approval_id, None)
                if (asking := self._asking.get(approval_id)) is not None:
                    asking.cancel()
            case TurnEnded():
                self._changed.set()
        self._observers(event)
        if isinstance(event, ApprovalAsked):
            self._ask(event.approval)

    def _end(self, turn: TurnView, status: Literal["failed", "cancelled"], text: str) -> None:
        """End a turn that never began."""
        self._tell(self._turns.began(turn))
        self._tell(self._turns.ended(turn, status, text))

    def _speak(self) -> ControlClient:
        if self._client is None:
            raise ControlError(f"session {self.id}: not attached", code="control_gone")
        return self._client


def turns_of(info: SessionInfo) -> list[TurnView]:
    """The latest turns of a session, as its host tells them."""
    return [
        TurnView(
            turn_id=turn.turn,
            title=turn.title,
            task=turn.title,
            started=turn.started,
            status=_STATUS.get(turn.status, "interrupted"),
        )
        for turn in info.turns
    ]


def _words(error: LooplineError) -> str:
    return error.message + (f" ({error.hint})" if error.hint else "")
