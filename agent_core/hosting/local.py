"""A session that this process hosts: turns asked for, one after the other.

The session of the core is opened when the first turn needs it and again when settings changed; it keeps its id. What
belongs to one front end (its buffers, questions to its user) goes to the one that attends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from agent_core.clock import Clock, new_id
from agent_core.config.paths import state_dir
from agent_core.errors import LooplineError, ToolError
from agent_core.hosting.audience import Audience
from agent_core.hosting.port import Changes
from agent_core.hosting.reload import KeptRules
from agent_core.hosting.session import Hosted, HostOptions, host_session
from agent_core.hosting.stored import kept_changes
from agent_core.runtime.embedded import Embedded
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.options import TurnOptions
from agent_core.turns.question import Question
from agent_core.turns.views import Place, Said, Steered, TurnView

log = logging.getLogger(__name__)

Settings = Callable[[str | None], HostOptions]
"""How a session is hosted, with the settings of now and the model that was chosen for it (None: what they say). Which
session it is, new or resumed, its host fills in. Raises LooplineError."""


class Undo(msgspec.Struct, frozen=True):
    """A turn to take back: its files, its conversation, or both."""

    turn_id: str
    files: bool
    conversation: bool


class Compact(msgspec.Struct, frozen=True):
    """The conversation is to be made shorter."""


class Ready(msgspec.Struct, frozen=True):
    """The session is to be open; `done` tells when, or what keeps it from that. None: nobody waits."""

    done: asyncio.Future[None] | None = None


Wanted = TurnView | Undo | Compact | Ready


class LocalHost:
    """Owns the task that keeps the core's session open. Runs on the event loop; nothing but `ready`, `close`, `changes`
    and `cancel_all` waits. `service` gives the embedded service of this process.
    """

    place: Place = "live"

    def __init__(
        self,
        audience: Audience,
        settings: Settings,
        service: Callable[[], Awaitable[Embedded]],
        clock: Clock,
        *,
        model: str | None = None,
    ) -> None:
        self._audience, self._settings, self._service, self._clock = audience, settings, service, clock
        self._model_wanted = model
        self._hosted: Hosted | None = None
        self._wanted: asyncio.Queue[Wanted] = asyncio.Queue()
        self._stale = False
        self._rules = KeptRules()
        """What the folder said about rules when the session was first opened, and since."""
        self._stack = AsyncExitStack()
        self._work = asyncio.create_task(self._run(), name=f"session {audience.id}")

    @property
    def model(self) -> str:
        return self._hosted.session.model if self._hosted is not None else self._model_wanted or ""

    @property
    def approvals(self) -> tuple[Approval, ...]:
        return tuple(self._hosted.session.approvals.pending()) if self._hosted is not None else ()

    @property
    def busy(self) -> bool:
        return bool(self._audience.turns.open)

    @property
    def attended(self) -> bool:
        return self._hosted is not None and self._hosted.others.attached > 0

    def start(self) -> None:
        """Take on the turns that wait."""
        for turn in self._audience.turns.queued:
            self._wanted.put_nowait(turn)

    def submit(self, turn: TurnView) -> None:
        self._wanted.put_nowait(turn)

    async def say(self, text: str, options: TurnOptions) -> Said:
        if self._hosted is not None and (given := await self._hosted.session.tell(text)) is not None:
            return Said(turn=given[0].turn, fate="steered", input_id=given[1].input_id)
        turn = self._audience.turns.add(text, options=options)
        self.submit(turn)
        return Said(turn=turn.turn_id, fate="started")

    async def cancel(self, turn_id: str) -> None:
        if self._hosted is not None:
            self._hosted.session.cancel(turn_id)

    async def steer(self, turn: TurnView, text: str) -> Steered:
        if not text.strip() or turn.is_over or self._hosted is None:
            return Steered(input_id=new_id("inp"), fate="refused")
        given = self._hosted.session.steer(turn.turn_id, text)
        return Steered(input_id=given.input_id, fate=given.fate)

    def undo(self, turn_id: str, *, files: bool, conversation: bool) -> None:
        self._wanted.put_nowait(Undo(turn_id, files, conversation))

    def compact(self) -> None:
        self._wanted.put_nowait(Compact())

    async def answer(self, approval_id: str, decision: Decision, *, by: str) -> bool:
        return self._hosted is not None and self._hosted.session.approvals.answer(approval_id, decision, by=by)

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(self._hosted.session.questions.pending()) if self._hosted is not None else ()

    async def reply(self, question_id: str, text: str, *, by: str) -> bool:
        return self._hosted is not None and self._hosted.session.questions.answer(question_id, text, by=by)

    async def changes(self, turn_id: str) -> Changes:
        latest = self._audience.turns.latest
        if self._hosted is not None and latest is not None and latest.turn_id == turn_id:
            workspace = self._hosted.workspace
            return Changes(files=tuple(await workspace.net_changes()), more=workspace.changes.left_out)
        states = state_dir(self._settings(self._model_wanted).env)
        return await asyncio.to_thread(kept_changes, states, self._audience.id, turn_id)

    def place_of(self, shown: str) -> Path | None:
        if self._hosted is None:
            return None
        try:
            return self._hosted.workspace.resolve(shown).path
        except ToolError:
            return None

    def warm(self) -> None:
        self._wanted.put_nowait(Ready())

    async def ready(self) -> None:
        """Raises whatever keeps the session from opening; SessionHeld where another process is quicker."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wanted.put_nowait(Ready(done))
        await done

    def reconfigure(self, *, roots: tuple[Path, ...] | None = None, model: str | None = None) -> None:
        self._model_wanted = model or self._model_wanted
        self._stale = self._stale or not roots
        if roots and self._hosted is not None:
            self._hosted.workspace.change_roots(roots)

    async def cancel_all(self) -> None:
        if self._hosted is not None and (running := self._hosted.session.running) is not None:
            self._hosted.session.cancel(running.turn)
            await asyncio.wait({running.done})

    async def close(self) -> None:
        self._work.cancel()
        await asyncio.wait({self._work})

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
                    log.exception("session %s could not be opened", self._audience.id)
                    self._refuse(wanted, LooplineError(f"internal error ({type(error).__name__}); the log says where"))
                else:
                    await self._do(wanted)
        finally:
            self._hosted = None
            await self._stack.aclose()

    async def _open(self) -> None:
        if self._hosted is not None and not self._stale:
            return
        self._hosted = None
        await self._stack.aclose()
        self._stack, self._stale = AsyncExitStack(), False
        audience, options = self._audience, self._settings(self._model_wanted)
        stored = (state_dir(options.env) / "sessions" / f"{audience.id}.jsonl").exists()
        options = msgspec.structs.replace(options, resume=audience.id if stored else None, session_id=audience.id)
        self._hosted = await self._stack.enter_async_context(
            host_session(
                options,
                observer=audience.tell,
                approver=self._ask,
                sinks=(audience.sinks,),
                clock=self._clock,
                documents=audience.documents if audience.edits else None,
                diagnostics=audience if audience.edits else None,
                service=self._service,
                replier=audience,
                rules=self._rules,
            )
        )

    async def _ask(self, approval: Approval) -> Decision | None:
        return (await self._audience.ask(approval))[0]

    async def _until_idle(self) -> None:
        """Another process may have started a turn in the meantime."""
        while self._hosted is not None and (running := self._hosted.session.running) is not None:
            await asyncio.wait({running.done})

    async def _do(self, wanted: Wanted) -> None:
        assert self._hosted is not None
        match wanted:
            case TurnView(status="queued"):  # else it was cancelled before its time
                await self._until_idle()
                try:
                    handle = self._hosted.session.start_turn(
                        wanted.task, turn_id=wanted.turn_id, options=wanted.options
                    )
                except LooplineError as error:
                    self._refuse(wanted, error)
                    return
                wanted.status = "running"
                await asyncio.wait({handle.done})
            case Undo(turn_id=turn_id, files=files, conversation=conversation):
                try:
                    await self._hosted.session.undo(turn_id, files=files, conversation=conversation)
                except LooplineError as error:
                    self._audience.refuse(error)
            case Compact():
                try:
                    await self._hosted.session.compact()
                except LooplineError as error:
                    self._audience.refuse(error)
            case Ready(done=asyncio.Future() as done) if not done.done():
                done.set_result(None)

    def _refuse(self, wanted: Wanted, error: LooplineError) -> None:
        """The session could not be opened: said to whoever waits, else to everybody, and the turn ends with it."""
        if isinstance(wanted, Ready) and wanted.done is not None:
            if not wanted.done.done():
                wanted.done.set_exception(error)
            return
        self._audience.refuse(error)
        if isinstance(wanted, TurnView) and wanted.status == "queued":
            self._audience.fail(wanted, error)
