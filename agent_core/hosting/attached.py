"""A session that another process hosts, followed over its control socket: watched, answered, cancelled and steered.

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

from agent_core.control.client import Attachment, ControlClient
from agent_core.control.messages import ControlError, EventMessage, SessionInfo, UpdateMessage
from agent_core.errors import LooplineError
from agent_core.hosting.audience import Audience
from agent_core.hosting.port import Changes
from agent_core.hosting.stored import kept_changes
from agent_core.telemetry.codec import decode_event
from agent_core.tools.workspace.changes import Change
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import (
    ApprovalAsked,
    ApprovalEnded,
    Notice,
    QuestionAsked,
    QuestionEnded,
    SessionOpened,
    ToolEnded,
    TurnBegan,
    TurnEnded,
    TurnEvent,
    TurnStatus,
    read_event,
)
from agent_core.turns.options import TurnOptions
from agent_core.turns.question import Question, question_of
from agent_core.turns.views import Place, Said, Steered, TurnView

_STATUS: Mapping[str, TurnStatus] = {
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}

RETRY_S = 1.0
"""How long after a refused start the next try comes at the latest."""
NOT_YET = ("turn_running", "control_ending", "control_gone")
"""Codes of a host that can't start a turn now; it is tried again, or the session taken over."""
MAX_EDITS = 200
"""Edits of the running turn that are kept for a session without checkpoints."""


class AttachedHost:
    """`attach`, then `follow`. `lost` is called once the host or the session is gone. Owns the connection and its
    tasks."""

    place: Place = "attached"
    busy = False  # what runs goes on there; what waits here is not begun
    attended = False

    def __init__(self, audience: Audience, socket: Path, states: Path, lost: Callable[[], Awaitable[None]]) -> None:
        self.model, self.pid = "", 0
        self._audience, self._socket, self._states, self._lost = audience, socket, states, lost
        self._approvals: dict[str, Approval] = {}
        self._questions: dict[str, Question] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._edits: list[ToolEnded] = []
        self._waiting: deque[TurnView] = deque()
        self._changed = asyncio.Event()
        self._stack = AsyncExitStack()
        self._client: ControlClient | None = None
        self._between: set[asyncio.Task[None]] = set()
        self._work: list[asyncio.Task[None]] = []

    async def attach(self) -> None:
        """Raises ControlError."""
        client = await self._stack.enter_async_context(ControlClient(self._socket))
        try:
            attachment = await client.attach(self._audience.id, events=True)
            found = [info for info in await client.list_sessions() if info.session == self._audience.id]
            if not found:
                raise ControlError(f"session {self._audience.id} is not hosted there", code="control_not_found")
        except ControlError:
            await self._stack.aclose()
            raise
        self._client, self.pid, self.model = client, client.pid, found[0].model or ""
        self._attachment, self._found = attachment, found[0]

    def follow(self) -> None:
        """Tell how things stand there, then whatever happens."""
        audience, found = self._audience, self._found
        waiting = audience.turns.queued
        audience.turns.title = found.title
        audience.turns.merge([*turns_of(found), *waiting])
        there = f"process {self.pid}"
        audience.tell(SessionOpened(session_id=audience.id, model=self.model, endpoint=there))
        for turn in audience.turns:
            if turn.status == "running":
                audience.tell(audience.turns.began(turn))
        for approval in found.approvals:
            self._open(approval)
        for question in found.questions:
            self._put(question)
        self._work = [
            asyncio.create_task(self._follow(self._attachment), name=f"attached {audience.id}"),
            asyncio.create_task(self._start_turns(), name=f"turns of {audience.id}"),
        ]

    @property
    def approvals(self) -> tuple[Approval, ...]:
        return tuple(self._approvals.values())

    def start(self) -> None:
        """Take on the turns that wait."""
        self._waiting.extend(self._audience.turns.queued)
        self._changed.set()

    def submit(self, turn: TurnView) -> None:
        """It is started once nothing else runs."""
        self._waiting.append(turn)
        self._changed.set()

    async def say(self, text: str, options: TurnOptions) -> Said:
        """Raises ControlError. What a host does not take any more waits until the session is ours."""
        try:
            said = await self._speak().say(self._audience.id, text, options=options)
        except ControlError as error:
            if error.code not in NOT_YET:
                raise
            turn = self._audience.turns.add(text, options=options)
            self.submit(turn)
            return Said(turn=turn.turn_id, fate="started")
        self._audience.turns.note_begun(said.turn, text)
        return said

    async def cancel(self, turn_id: str) -> None:
        """Raises ControlError."""
        await self._speak().cancel(turn_id)

    async def steer(self, turn: TurnView, text: str) -> Steered:
        """Raises ControlError."""
        return await self._speak().steer(turn.turn_id, text)

    def undo(self, turn_id: str, *, files: bool, conversation: bool) -> None:
        session = self._audience.id
        self._ask_there(
            lambda there: there.undo(session, turn_id, files=files, conversation=conversation), f"undo {turn_id}"
        )

    def compact(self) -> None:
        self._ask_there(lambda there: there.compact(self._audience.id), f"compact {self._audience.id}")

    def _ask_there(self, ask: Callable[[ControlClient], Awaitable[object]], what: str) -> None:
        """What comes of it is told as events."""
        task = asyncio.create_task(self._asked_there(ask), name=f"{what} elsewhere")
        self._between.add(task)
        task.add_done_callback(self._between.discard)

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

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(self._questions.values())

    async def reply(self, question_id: str, text: str, *, by: str) -> bool:
        """Raises ControlError. True as well where somebody else was quicker."""
        if question_id not in self._questions:
            return False
        try:
            await self._speak().reply(question_id, text, by=by)
        except ControlError as error:
            if error.code != "control_not_found":
                raise
        return True

    async def changes(self, turn_id: str) -> Changes:
        """As it was seen where no checkpoints are kept."""
        kept = await asyncio.to_thread(kept_changes, self._states, self._audience.id, turn_id)
        if kept.files:
            return kept
        edits = [edit for edit in self._edits if edit.turn_id == turn_id]
        return Changes(files=tuple(_seen(path, edit) for edit in edits for path in edit.files_changed))

    def place_of(self, shown: str) -> Path | None:
        return None

    def warm(self) -> None:
        return

    async def ready(self) -> None:
        return

    def reconfigure(self, *, roots: tuple[Path, ...] | None = None, model: str | None = None) -> None:
        return

    async def cancel_all(self) -> None:
        return

    async def close(self) -> None:
        """Watch no more; the session goes on where it is hosted."""
        self._stop_asking()
        tasks = [*self._work, *self._between]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        with contextlib.suppress(ControlError):
            await self._stack.aclose()

    # Asking

    def _open(self, approval: Approval) -> None:
        key = approval.approval_id
        self._approvals[key] = approval
        if key not in self._asking:
            self._asking[key] = asyncio.create_task(self._ask(approval), name=f"ask {key}")

    async def _ask(self, approval: Approval) -> None:
        """An answer that came too late, or that nobody could give, concerns nobody."""
        try:
            with contextlib.suppress(LooplineError):
                decision, name = await self._audience.ask(approval)
                if decision is not None:
                    await self.answer(approval.approval_id, decision, by=name)
        finally:
            self._asking.pop(approval.approval_id, None)

    def _put(self, question: Question) -> None:
        key = question.question_id
        self._questions[key] = question
        self._asking[key] = asyncio.create_task(self._asked(question), name=f"ask {key}")

    async def _asked(self, question: Question) -> None:
        try:
            with contextlib.suppress(LooplineError):
                answer, front_end = await self._audience.put(question), self._audience.front_end
                if answer:
                    by = front_end.name if front_end is not None else ""
                    await self.reply(question.question_id, answer, by=by)
        finally:
            self._asking.pop(question.question_id, None)

    def _stop_asking(self) -> None:
        for task in tuple(self._asking.values()):
            task.cancel()
        self._asking.clear()

    # Starting and following

    async def _start_turns(self) -> None:
        """One after the other; while a turn runs there, or the host only waits for its end, nothing is started."""
        while True:
            self._changed.clear()
            running = any(turn.status == "running" for turn in self._audience.turns)
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
            await self._speak().start(self._audience.id, turn.task, turn=turn.turn_id, options=turn.options)
        except LooplineError as error:
            if error.code in NOT_YET:
                return False
            self._audience.fail(turn, error)
        else:
            if turn.status == "queued":
                turn.status = "running"
        return True

    async def _asked_there(self, ask: Callable[[ControlClient], Awaitable[object]]) -> None:
        try:
            await ask(self._speak())
        except LooplineError as error:
            if error.code != "control_busy":  # it takes long, and goes on
                self._audience.refuse(error)

    async def _follow(self, attachment: Attachment) -> None:
        async for item in attachment:
            if isinstance(item, EventMessage):
                figure = decode_event(bytes(item.event))
                if figure is not None:
                    self._audience.sinks.emit(figure)
            elif isinstance(item, UpdateMessage):
                event = read_event(item.update)
                if event is not None:  # else of a newer version
                    self._tell(event)
            else:
                text = f"{item.lost} updates of the session were left out"
                self._tell(Notice(severity="warning", text=text, session_id=self._audience.id))
        self._work.pop().cancel()
        self._stop_asking()
        self._approvals.clear()
        self._questions.clear()
        self._audience.interrupt()
        with contextlib.suppress(ControlError):
            await self._stack.aclose()
        self._client = None
        await self._lost()

    def _tell(self, event: TurnEvent) -> None:
        """Keep approvals and edits as they are at the host, then hand the event on."""
        match event:
            case TurnBegan():
                self._edits.clear()
            case ToolEnded() if event.files_changed and len(self._edits) < MAX_EDITS:
                self._edits.append(event)
            case ApprovalEnded(approval_id=key) | QuestionEnded(question_id=key):
                self._approvals.pop(key, None)
                self._questions.pop(key, None)
                if (asking := self._asking.get(key)) is not None:
                    asking.cancel()
            case TurnEnded():
                self._changed.set()
        self._audience.tell(event)
        if isinstance(event, ApprovalAsked):
            self._open(event.approval)
        elif isinstance(event, QuestionAsked):
            self._put(question_of(event))

    def _speak(self) -> ControlClient:
        if self._client is None:
            raise ControlError(f"session {self._audience.id}: not attached", code="control_gone")
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


def _seen(path: str, edit: ToolEnded) -> Change:
    lines = [line for line in edit.diff.split("\n") if not line.startswith(("+++", "---"))]
    return Change(
        path=path,
        diff=edit.diff,
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
        by=edit.by,
    )
