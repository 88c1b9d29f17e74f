"""A session that this process hosts: turns asked for, one after the other, and who watches.

The session of the core is opened when the first turn needs it and again when settings changed; it keeps its id. What
belongs to one front end (its buffers, questions to its user) goes to the one that last attended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from agent_core.clock import Clock, new_id, rfc3339
from agent_core.errors import LooplineError, ToolError
from agent_core.hosting.observers import Observers, Sinks
from agent_core.hosting.port import FrontEnd, FrontEndGone
from agent_core.hosting.queue import TurnList
from agent_core.hosting.reload import KeptRules
from agent_core.hosting.session import Hosted
from agent_core.telemetry.emitter import Sink
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.tools.workspace.changes import Change
from agent_core.tools.workspace.workspace import Documents, OpenDocument
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import EndStatus, Notice, Observer, TurnEvent
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.turns.views import SessionView, Steered, TurnView

log = logging.getLogger(__name__)


class Undo(msgspec.Struct, frozen=True):
    """A turn to take back."""

    turn_id: str


Opener = Callable[["LocalHost"], AbstractAsyncContextManager[Hosted]]
"""Puts the core's session together for a host, with the settings of now."""


class LocalHost:
    """Owns the task that keeps the core's session open. Runs on the event loop; nothing but `close`, `changes` and
    `cancel_all` waits.
    """

    def __init__(
        self,
        session_id: str,
        opener: Opener,
        clock: Clock,
        *,
        title: str = "",
        created: str = "",
        turns: Sequence[TurnView] = (),
        model: str | None = None,
    ) -> None:
        self.id, self._created = session_id, created or rfc3339(clock.wall_ns())
        self.model_wanted = model
        """None: what the settings say."""
        self.sinks = Sinks()
        self.rules = KeptRules()
        """What the folder said about rules when the session was first opened, and since."""
        self._opener, self._clock = opener, clock
        self._turns = TurnList(session_id, clock, title=title)
        self._turns.merge(turns)
        self._hosted: Hosted | None = None
        self._front_end: FrontEnd | None = None
        self._attended = asyncio.Event()
        self._observers = Observers()
        self._wanted: asyncio.Queue[TurnView | Undo | None] = asyncio.Queue()
        self._stale = False
        self._stack = AsyncExitStack()
        self._work = asyncio.create_task(self._run(), name=f"session {session_id}")

    # The port

    @property
    def front_end(self) -> FrontEnd | None:
        return self._front_end

    @property
    def busy(self) -> bool:
        return bool(self._turns.open)

    @property
    def attended(self) -> bool:
        return self._hosted is not None and self._hosted.others.attached > 0

    def view(self) -> SessionView:
        return SessionView(
            session_id=self.id,
            place="live",
            title=self._turns.title,
            created=self._created,
            model=self._hosted.session.model if self._hosted is not None else self.model_wanted or "",
            turns=tuple(self._turns),
            approvals=tuple(self._hosted.session.approvals.pending()) if self._hosted is not None else (),
        )

    def turn(self, turn_id: str) -> TurnView | None:
        return self._turns.get(turn_id)

    def knows(self, turn_id: str) -> bool:
        return self._turns.knows(turn_id)

    def submit(self, task: str, *, title: str = "", options: TurnOptions = PLAIN) -> TurnView:
        turn = self._turns.add(task, title, options)
        self._wanted.put_nowait(turn)
        return turn

    def take_over(self, turns: Sequence[TurnView]) -> None:
        self._turns.merge(turns)
        for turn in turns:
            if turn.status == "queued":
                self._wanted.put_nowait(turn)

    async def cancel(self, turn_id: str) -> None:
        turn = self._turns.known(turn_id)
        if turn.status == "queued":
            self._end(turn, "cancelled", "cancelled")
        elif turn.status == "running" and self._hosted is not None:
            self._hosted.session.cancel(turn_id)

    async def steer(self, turn_id: str, text: str) -> Steered:
        turn = self._turns.known(turn_id)
        if not text.strip() or turn.is_over:
            return Steered(input_id=new_id("inp"), fate="refused")
        if turn.status == "queued" or self._hosted is None:
            turn.task += f"\n\n{text}"
            return Steered(input_id=new_id("inp"), fate="queued")
        given = self._hosted.session.steer(turn_id, text)
        return Steered(input_id=given.input_id, fate=given.fate)

    async def undo(self, turn_id: str) -> None:
        self._turns.check_undo(turn_id)
        self._wanted.put_nowait(Undo(turn_id))

    async def answer(self, approval_id: str, decision: Decision, *, by: str) -> bool:
        return self._hosted is not None and self._hosted.session.approvals.answer(approval_id, decision, by=by)

    async def changes(self, turn_id: str) -> Sequence[Change]:
        latest = self._turns.latest
        if self._hosted is None or latest is None or latest.turn_id != turn_id:
            return ()
        return await self._hosted.workspace.net_changes()

    def place_of(self, shown: str) -> Path | None:
        if self._hosted is None:
            return None
        try:
            return self._hosted.workspace.resolve(shown).path
        except ToolError:
            return None

    def subscribe(self, observer: Observer, sink: Sink) -> Callable[[], None]:
        leave = (self._observers.add(observer), self.sinks.add(sink))

        def stop() -> None:
            for each in leave:
                each()

        return stop

    def attend(self, front_end: FrontEnd) -> None:
        if self._front_end is front_end:
            return
        self._front_end = front_end
        self._attended.set()
        self._attended = asyncio.Event()

    def leave(self, front_end: FrontEnd) -> None:
        if self._front_end is front_end:
            self._front_end = None

    def warm(self) -> None:
        self._wanted.put_nowait(None)

    def reconfigure(self, *, roots: tuple[Path, ...] | None = None, model: str | None = None) -> None:
        self.model_wanted = model or self.model_wanted
        self._stale = self._stale or not roots
        if roots and self._hosted is not None:
            self._hosted.workspace.change_roots(roots)

    async def cancel_all(self) -> None:
        for turn in self._turns.open:
            await self.cancel(turn.turn_id)
        if self._hosted is not None and (running := self._hosted.session.running) is not None:
            await asyncio.wait({running.done})

    async def close(self) -> None:
        self._work.cancel()
        await asyncio.wait({self._work})

    # What the core's session is given

    @property
    def documents(self) -> Documents:
        return _AttendingDocuments(self)

    async def ask(self, approval: Approval) -> Decision | None:
        """Ask whoever attends; while nobody does, wait for one. Cancelled once somebody else answered."""
        while True:
            came, front_end = asyncio.ensure_future(self._attended.wait()), self._front_end
            asking = asyncio.ensure_future(front_end.ask(approval)) if front_end is not None else None
            waiting: set[asyncio.Future[Any]] = {came} if asking is None else {came, asking}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if asking is not None and asking.done():
                    return asking.result()
            except FrontEndGone:
                if front_end is not None:
                    self.leave(front_end)
            finally:
                for future in waiting:
                    future.cancel()

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return await self._front_end.diagnostics(path) if self._front_end is not None else ()

    def tell(self, event: TurnEvent) -> None:
        """Hand an event of the core on to everybody who watches."""
        self._turns.note(event)
        self._observers(event)

    # The work

    async def _run(self) -> None:
        try:
            while True:
                wanted = await self._wanted.get()
                await self._until_idle()
                try:
                    await self._open()
                except LooplineError as error:
                    self._refuse(wanted, error)
                except Exception as error:  # whatever it is, the turn ends and the session takes the next one
                    log.exception("session %s could not be opened", self.id)
                    self._refuse(wanted, LooplineError(f"internal error ({type(error).__name__}); the log says where"))
                else:
                    await (self._take_back(wanted) if isinstance(wanted, Undo) else self._turn(wanted))
        finally:
            self._hosted = None
            await self._stack.aclose()

    async def _open(self) -> None:
        if self._hosted is not None and not self._stale:
            return
        self._hosted = None
        await self._stack.aclose()
        self._stack, self._stale = AsyncExitStack(), False
        self._hosted = await self._stack.enter_async_context(self._opener(self))

    async def _until_idle(self) -> None:
        """Another process may have started a turn in the meantime."""
        while self._hosted is not None and (running := self._hosted.session.running) is not None:
            await asyncio.wait({running.done})

    async def _turn(self, turn: TurnView | None) -> None:
        """Run it, unless it was cancelled before its time."""
        if turn is None or turn.status != "queued" or self._hosted is None:
            return
        await self._until_idle()
        try:
            handle = self._hosted.session.start_turn(turn.task, turn_id=turn.turn_id, options=turn.options)
        except LooplineError as error:
            self._refuse(turn, error)
            return
        turn.status = "running"
        await asyncio.wait({handle.done})

    async def _take_back(self, undo: Undo) -> None:
        assert self._hosted is not None
        try:
            await self._hosted.session.undo(undo.turn_id)
        except LooplineError as error:
            self._refuse(None, error)

    def _refuse(self, wanted: TurnView | Undo | None, error: LooplineError) -> None:
        """The session could not be opened: said to everybody, and the turn ends with it."""
        words = error.message + (f" ({error.hint})" if error.hint else "")
        self.tell(Notice(severity="error", text=words, session_id=self.id))
        if isinstance(wanted, TurnView) and wanted.status == "queued":
            self._end(wanted, "failed", words)

    def _end(self, turn: TurnView, status: EndStatus, text: str) -> None:
        """End a turn that never reached the core."""
        self.tell(self._turns.began(turn))
        self.tell(self._turns.ended(turn, status, text))


class _AttendingDocuments:
    """The open documents of whichever front end attends at the moment."""

    def __init__(self, host: LocalHost) -> None:
        self._host = host

    def _now(self) -> Documents | None:
        front_end = self._host.front_end
        return front_end.documents if front_end is not None else None

    def get(self, path: str) -> OpenDocument | None:
        documents = self._now()
        return documents.get(path) if documents is not None else None

    def opened(self) -> Mapping[str, OpenDocument]:
        documents = self._now()
        return documents.opened() if documents is not None else {}

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        documents = self._now()
        return documents is not None and await documents.replace(path, base_version, content)
