"""A session that this process hosts for its editors: turns asked for, one after the other, and who watches.

The session of the core is opened when the first turn needs it and again when settings changed; it keeps its id. What
belongs to one editor (buffers, questions to its user) goes to the `owner`, the editor that last took the session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Protocol

import msgspec

from agent_core.clock import Clock, new_id, rfc3339
from agent_core.errors import LooplineError, UsageError
from agent_core.hosting.session import Hosted
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.tools.workspace.workspace import Documents, OpenDocument
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import (
    EndStatus,
    Notice,
    Observer,
    TurnBegan,
    TurnEnded,
    TurnEvent,
    TurnStatus,
    TurnUndone,
)
from lsp_server.protocol.events import AnyEvent
from lsp_server.protocol.methods import Steered
from lsp_server.recent import Recent
from lsp_server.rpc.errors import ClientError

log = logging.getLogger(__name__)


class Asked(msgspec.Struct, kw_only=True):
    """A turn that was asked for. `text` is its answer once it ended."""

    turn: str
    title: str
    task: str
    started: str
    status: TurnStatus = "queued"
    text: str = ""


class Undo(msgspec.Struct, frozen=True):
    """A turn to take back."""

    turn: str


class Owner(Protocol):
    """The editor that a session works for."""

    @property
    def buffers(self) -> Documents: ...

    async def ask(self, approval: Approval) -> Decision: ...

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]: ...


Opener = Callable[["LiveSession"], AbstractAsyncContextManager[Hosted]]


class LiveSession:
    """Owns the task that keeps the core's session open. All methods run on the event loop and return at once, but for
    `close`."""

    def __init__(self, session: str, opener: Opener, clock: Clock, *, title: str = "", created: str = "") -> None:
        self.id, self.title, self.created = session, title, created or rfc3339(clock.wall_ns())
        self.turns: list[Asked] = []
        self.hosted: Hosted | None = None
        self.model_wanted: str | None = None
        self.owner: Owner | None = None
        self._opener, self._clock = opener, clock
        self._owner_came = asyncio.Event()
        self._watchers: list[Observer] = []
        self._event_watchers: list[Callable[[AnyEvent], None]] = []
        self._undone: set[str] = set()
        self.recent = Recent()
        self._wanted: asyncio.Queue[Asked | Undo | None] = asyncio.Queue()
        self._stale = False
        self._stack = AsyncExitStack()
        self._work = asyncio.create_task(self._run(), name=f"session {session}")

    # Asked for by editors

    def take(self, owner: Owner) -> None:
        """From now on the session works for `owner`; questions that are open are asked there."""
        if self.owner is owner:
            return
        self.owner = owner
        self._owner_came.set()
        self._owner_came = asyncio.Event()

    def leave(self, owner: Owner) -> None:
        """`owner` is gone; whatever runs goes on, questions wait for the next one."""
        if self.owner is owner:
            self.owner = None

    def watch(self, observer: Observer, put: Callable[[AnyEvent], None]) -> Callable[[], None]:
        """Every turn event, and every figure, from now on; call what is returned to stop."""
        self._watchers.append(observer)
        self._event_watchers.append(put)

        def stop() -> None:
            self._watchers = [other for other in self._watchers if other is not observer]
            self._event_watchers = [other for other in self._event_watchers if other is not put]

        return stop

    def warm(self) -> None:
        """Open the session, so that the first turn finds it ready."""
        self._wanted.put_nowait(None)

    def refresh(self) -> None:
        """Settings changed: open anew before the next turn."""
        self._stale = True

    def start(self, task: str, title: str) -> Asked:
        asked = Asked(turn=new_id("turn"), title=title, task=task, started=rfc3339(self._clock.wall_ns()))
        self.title = self.title or title
        self.enqueue(asked)
        return asked

    def enqueue(self, asked: Asked) -> None:
        """A turn that waits for those before it."""
        if self.turn(asked.turn) is None:
            self.turns.append(asked)
        self._wanted.put_nowait(asked)

    def knows(self, turn: str) -> bool:
        """Whether it is a turn, or the undoing of one, of this session."""
        return turn in self._undone or self.turn(turn) is not None

    def turn(self, turn: str) -> Asked | None:
        return next((asked for asked in self.turns if asked.turn == turn), None)

    def cancel(self, turn: str) -> None:
        """Cancelling a turn that ended is no error. Raises UsageError (`unknown_turn`)."""
        asked = self._known(turn)
        if asked.status == "queued":
            self._end(asked, "cancelled", "cancelled")
        elif asked.status == "running" and self.hosted is not None:
            self.hosted.session.cancel(turn)

    def steer(self, turn: str, text: str) -> Steered:
        """Raises UsageError (`unknown_turn`)."""
        asked = self._known(turn)
        if not text.strip() or asked.status not in ("queued", "running"):
            return Steered(input_id=new_id("inp"), fate="refused")
        if asked.status == "queued" or self.hosted is None:
            asked.task += f"\n\n{text}"
            return Steered(input_id=new_id("inp"), fate="queued")
        given = self.hosted.session.steer(turn, text)
        return Steered(input_id=given.input_id, fate=given.fate)

    def undo(self, turn: str) -> None:
        """Take back what a turn did to files, once nothing runs; what came of it is published. `turn` may be the id of
        an earlier undoing. Raises UsageError (`unknown_turn`, `turn_running`)."""
        if turn not in self._undone and self._known(turn).status in ("queued", "running"):
            raise UsageError("the turn runs", code="turn_running", hint="cancel it first")
        self._wanted.put_nowait(Undo(turn))

    def pending(self) -> list[Approval]:
        """What is open, oldest first."""
        return self.hosted.session.approvals.pending() if self.hosted is not None else []

    def answer(self, approval_id: str, decision: Decision) -> bool:
        """False if it is not open."""
        return self.hosted is not None and self.hosted.session.approvals.answer(approval_id, decision, by="lsp")

    @property
    def running(self) -> Asked | None:
        return next((asked for asked in self.turns if asked.status in ("queued", "running")), None)

    async def cancel_all(self) -> None:
        """Returns once nothing of any turn is left. Bound the wait."""
        for asked in self.turns:
            if asked.status in ("queued", "running"):
                self.cancel(asked.turn)
        if self.hosted is not None and (running := self.hosted.session.running) is not None:
            await asyncio.wait({running.done})

    async def close(self) -> None:
        self._work.cancel()
        await asyncio.wait({self._work})

    # What the core's session is given

    @property
    def buffers(self) -> Documents:
        return _OwnersBuffers(self)

    async def ask(self, approval: Approval) -> Decision | None:
        """Ask the owner's user; while there is no owner, wait for one. Cancelled once somebody else answered."""
        while True:
            came, owner = asyncio.ensure_future(self._owner_came.wait()), self.owner
            asking = asyncio.ensure_future(owner.ask(approval)) if owner is not None else None
            waiting: set[asyncio.Future[Any]] = {came} if asking is None else {came, asking}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if asking is not None and asking.done():
                    return asking.result()
            except ClientError:
                if owner is not None:
                    self.leave(owner)
            finally:
                for future in waiting:
                    future.cancel()

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return await self.owner.diagnostics(path) if self.owner is not None else ()

    def publish(self, event: TurnEvent) -> None:
        if isinstance(event, TurnBegan) and self.turn(event.turn_id) is None:  # another process started it
            now = rfc3339(self._clock.wall_ns())
            begun = Asked(turn=event.turn_id, title=event.title, task=event.title, started=now, status="running")
            self.turns.append(begun)
        if isinstance(event, TurnEnded) and (asked := self.turn(event.turn_id)) is not None:
            asked.status, asked.text = event.status, event.text
        elif isinstance(event, TurnUndone) and event.undo_id is not None:
            self._undone.add(event.undo_id)
        self.recent.put(event)
        for watcher in tuple(self._watchers):
            watcher(event)

    def tell(self, event: AnyEvent) -> None:
        """A figure for everybody who watches."""
        self.recent.put(event)
        for put in tuple(self._event_watchers):
            put(event)

    # The work

    async def _run(self) -> None:
        try:
            while True:
                asked = await self._wanted.get()
                await self._until_idle()
                try:
                    await self._open()
                except LooplineError as error:
                    self._refuse(asked, error)
                except Exception as error:  # whatever it is, the turn ends and the session takes the next one
                    log.exception("session %s could not be opened", self.id)
                    self._refuse(asked, LooplineError(f"internal error ({type(error).__name__}); the log says where"))
                else:
                    await (self._take_back(asked) if isinstance(asked, Undo) else self._turn(asked))
        finally:
            self.hosted = None
            await self._stack.aclose()

    async def _open(self) -> None:
        if self.hosted is not None and not self._stale:
            return
        self.hosted = None
        await self._stack.aclose()
        self._stack, self._stale = AsyncExitStack(), False
        self.hosted = await self._stack.enter_async_context(self._opener(self))

    async def _until_idle(self) -> None:
        """Another process may have started a turn in the meantime."""
        while self.hosted is not None and (running := self.hosted.session.running) is not None:
            await asyncio.wait({running.done})

    async def _turn(self, asked: Asked | None) -> None:
        """Run it, unless it was cancelled before its time."""
        if asked is None or asked.status != "queued" or self.hosted is None:
            return
        await self._until_idle()
        asked.status = "running"
        handle = self.hosted.session.start_turn(asked.task, turn_id=asked.turn)
        await asyncio.wait({handle.done})

    async def _take_back(self, undo: Undo) -> None:
        assert self.hosted is not None
        try:
            await self.hosted.session.undo(undo.turn)
        except LooplineError as error:
            self._refuse(None, error)

    def _refuse(self, asked: Asked | Undo | None, error: LooplineError) -> None:
        """The session could not be opened: said to everybody, and the turn ends with it."""
        words = error.message + (f" ({error.hint})" if error.hint else "")
        self.publish(Notice(severity="error", text=words, session_id=self.id))
        if isinstance(asked, Asked) and asked.status == "queued":
            self._end(asked, "failed", words)

    def _end(self, asked: Asked, status: EndStatus, text: str) -> None:
        """End a turn that never reached the core."""
        self.publish(TurnBegan(session_id=self.id, turn_id=asked.turn, title=asked.title, task=asked.title))
        ended = TurnEnded(session_id=self.id, turn_id=asked.turn, status=status, text=text, duration_ms=0.0)
        self.publish(ended)

    def _known(self, turn: str) -> Asked:
        asked = self.turn(turn)
        if asked is None:
            raise UsageError(f"there is no turn {turn[:80]!r}", code="unknown_turn")
        return asked


class _OwnersBuffers:
    """The open documents of whichever editor owns the session at the moment."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session

    def get(self, path: str) -> OpenDocument | None:
        owner = self._session.owner
        return owner.buffers.get(path) if owner is not None else None

    def opened(self) -> Mapping[str, OpenDocument]:
        owner = self._session.owner
        return owner.buffers.opened() if owner is not None else {}

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        owner = self._session.owner
        return owner is not None and await owner.buffers.replace(path, base_version, content)
