"""A session: one conversation with its history, settings and workspace roots. It outlives turns and connections.

The session owns the history, the model's connection, the policy of approvals and the one turn that may run; a `Turn`
borrows them. Turns of one session run one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from agent_core.agent import inbox
from agent_core.agent.approvals.pending import PendingApprovals
from agent_core.agent.approvals.questions import PendingQuestions
from agent_core.agent.calls import INTERRUPTED, output_of, unanswered
from agent_core.agent.checkpoints import undoing
from agent_core.agent.checkpoints.checkpoints import Checkpoints
from agent_core.agent.checkpoints.undo import UndoReport
from agent_core.agent.context.compaction import Compactor
from agent_core.agent.context.context import SessionContext
from agent_core.agent.context.fragments import message
from agent_core.agent.history import History
from agent_core.agent.inbox import Inbox, Input
from agent_core.agent.limits import Spent
from agent_core.agent.shaping import Shaping
from agent_core.agent.terms import TurnPolicy
from agent_core.agent.toolrunner import ToolRunner
from agent_core.agent.turn import Outcome, Turn
from agent_core.clock import Clock, new_id
from agent_core.config.settings import Effort
from agent_core.errors import LimitReached, LooplineError, UsageError
from agent_core.model.capabilities import ModelBook
from agent_core.model.port import Model
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import SessionStarted, Status
from agent_core.tools.toolbox import Toolbox
from agent_core.tools.workspace.workspace import Workspace
from agent_core.turns.events import InputTaken, Notice, Observer, TurnBegan, TurnEnded, title_of
from agent_core.turns.options import PLAIN, TurnOptions


class SessionParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is made of. `client` names the front end (`cli`, `lsp`), `project` is a label or None."""

    history: History
    context: SessionContext
    compactor: Compactor
    model: Model
    toolbox: Toolbox
    workspace: Workspace
    terms: TurnPolicy
    approvals: PendingApprovals
    model_name: str
    instructions: str
    roots: tuple[Path, ...]
    emitter: Emitter
    clock: Clock
    observer: Observer
    client: str
    project: str | None = None
    websocket_share: float | None = None
    """Told to telemetry; None: every session uses the WebSocket."""
    checkpoints: Checkpoints | None = None
    """None: turns can't be undone."""
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)
    book: ModelBook = msgspec.field(default_factory=ModelBook)
    effort: Effort | None = None
    """None: as the model likes."""
    reasoning_summary: bool = False
    questions: PendingQuestions = msgspec.field(default_factory=PendingQuestions)


class TurnHandle(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was started. `done` gives its outcome, also after a cancel; cancel it through `Session.cancel`."""

    turn: str
    task: str
    started_ns: int
    done: asyncio.Task[Outcome]
    inbox: Inbox


class Session:
    """Build with `SessionParts`, `open` once, start turns one after the other, `close` at the end."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self.id = parts.history.header.id
        self.turns: list[TurnHandle] = []
        self._queued: list[str] = []
        self._closed = self._held = False
        self._begins: dict[str, tuple[int, int]] = {}
        self._shaping = Shaping(
            model=parts.model_name,
            instructions=parts.instructions,
            items=parts.history.items,
            toolbox=parts.toolbox,
            options=parts.options,
            book=parts.book,
            effort=parts.effort,
            summary=parts.reasoning_summary,
        )

    @property
    def approvals(self) -> PendingApprovals:
        return self._parts.approvals

    @property
    def questions(self) -> PendingQuestions:
        return self._parts.questions

    @property
    def model(self) -> str:
        return self._shaping.model

    def use_model(self, name: str) -> None:
        """From the next turn on; the conversation is then sent in full once."""
        self._shaping.model = name

    def use_effort(self, effort: Effort | None, *, summary: bool) -> None:
        """From the next turn on; the conversation is then sent in full once. A level that the model does not take is
        not sent."""
        self._shaping.effort, self._shaping.summary = effort, summary

    def change_terms(self, terms: TurnPolicy) -> None:
        """From the next call and the next approval on, also of a turn that runs."""
        self._parts.terms.take(terms)

    @property
    def running(self) -> TurnHandle | None:
        """The turn that runs now."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and not last.done.done() else None

    async def open(self) -> None:
        """Announce the session, complete what a dead process left open, and warm the connection up."""
        parts = self._parts
        parts.emitter.emit(
            SessionStarted(
                session=self.id,
                client=parts.client,
                roots=len(parts.roots),
                project=parts.project,
                websocket_share=parts.websocket_share,
            )
        )
        self._take_up()
        for note in parts.history.notes:
            parts.observer(Notice(severity="warning", text=note.text, session_id=self.id))
        if not len(parts.history.items):
            parts.history.append(await parts.context.opening())
        elif parts.history.turns:
            parts.compactor.tell_size(self.model)
        if parts.terms.limits.cost_usd and not parts.terms.prices.knows(self.model):
            text = f"`limits.cost` can't be watched: the price of {self.model} is not known"
            parts.observer(Notice(severity="warning", text=text, session_id=self.id))
        offer = self._shaping.offer(PLAIN, asks=parts.questions.answerable)
        await parts.model.prewarm(self._shaping.request(PLAIN, offer))

    def _take_up(self) -> None:
        """Complete what a process that died left open, and know again what it had told the model."""
        history = self._parts.history
        if left := unanswered(history.context()):
            history.append([output_of(call, INTERRUPTED) for call in left])
        if history.turns and history.turns[-1].status == "started":
            history.mark_turn(history.turns[-1].turn, "interrupted")
        self._parts.context.recall(history.context())

    def start_turn(self, task: str, *, turn_id: str | None = None, options: TurnOptions = PLAIN) -> TurnHandle:
        """Start a turn and return at once; `turn_id` None: a fresh id.

        Raises UsageError for an empty task, for options that the model does not take, while another turn runs, and once
        the session is closed.
        """
        if self._closed:
            raise UsageError("the session is closed", code="session_closed")
        if not task.strip():
            raise UsageError("the task is empty", hint='say what to do: loopline run "make the failing tests pass"')
        if self.running is not None or self._held:
            raise UsageError("a turn of this session runs already", code="turn_running", hint="steer or cancel it")
        self._shaping.check(options)
        turn_id, started_ns, box = turn_id or new_id("turn"), self._parts.clock.mono_ns(), Inbox()
        handle = TurnHandle(
            turn=turn_id,
            task=task,
            started_ns=self._parts.clock.wall_ns(),
            done=asyncio.create_task(self._run(turn_id, task, started_ns, box, options), name=turn_id),
            inbox=box,
        )
        self.turns.append(handle)
        return handle

    async def run_turn(self, task: str, options: TurnOptions = PLAIN) -> Outcome:
        """Start a turn and wait for its end; cancelling the wait cancels the turn, and is raised once all is tidy."""
        handle = self.start_turn(task, options=options)
        try:
            return await asyncio.shield(handle.done)
        except asyncio.CancelledError:
            self.cancel(handle.turn)
            await asyncio.wait({handle.done})
            raise

    def cancel(self, turn: str) -> bool:
        """Cancel a running turn; False if it does not run. `TurnHandle.done` ends once nothing of it is left."""
        running = self.running
        if running is None or running.turn != turn:
            return False
        # A task cancelled before its first step would never run, so the cancel queues up behind that step.
        asyncio.get_running_loop().call_soon(running.done.cancel)
        return True

    def steer(self, turn: str, text: str) -> Input:
        """Say something to a turn while it runs. Raises UsageError (`unknown_turn`) for a turn of no such id."""
        handle = next((each for each in self.turns if each.turn == turn), None)
        if handle is None:
            raise UsageError(f"no turn {turn!r} in this session", code="unknown_turn")
        if self._closed or not text.strip():
            given = inbox.make(text, "refused")
        elif not handle.done.done() and handle.inbox.put(text):
            given = inbox.make(text, "steered")
        else:
            self._queued.append(text)
            given = inbox.make(text, "queued")
        self._told_input(turn, given, text)
        return given

    async def tell(self, text: str) -> tuple[TurnHandle, Input] | None:
        """Say something to the turn that runs; None if none does (any more), and `text` can start one.

        A turn that says its last words takes nothing more: its end is waited for.
        """
        while (running := self.running) is not None:
            if text.strip() and running.inbox.put(text):
                given = inbox.make(text, "steered")
                self._told_input(running.turn, given, text)
                return running, given
            await asyncio.wait({running.done})
        return None

    async def undo(self, turn: str, *, files: bool = True, conversation: bool = False) -> UndoReport:
        """Take back what a turn did to files, and tell the model; `conversation`: forget it and what was said since.

        `turn` may also be the `undo` of an earlier report. Raises UsageError: `unknown_turn`; `turn_running`;
        `undo_off`; `undo_unavailable` for the conversation of a turn that an earlier process ran.
        """
        with self._between_turns():
            return await undoing.undo(self._parts, self._begins, turn, files=files, conversation=conversation)

    async def compact(self) -> bool:
        """Shorten the conversation now; what came of it is told as a notice and its new size. False: nothing made it
        much shorter. Raises UsageError: `session_closed`, `turn_running`."""
        if self._closed:
            raise UsageError("the session is closed", code="session_closed")
        parts = self._parts
        with self._between_turns():
            request = self._shaping.request(PLAIN, self._shaping.offer(PLAIN, asks=parts.questions.answerable))
            shorter = await parts.compactor.shrink(request, Spent(model=self.model, prices=parts.terms.prices))
        if not shorter:
            text = "the conversation can't be made much shorter than it is"
            parts.observer(Notice(severity="info", text=text, session_id=self.id))
        return shorter

    @contextmanager
    def _between_turns(self) -> Iterator[None]:
        """No turn starts meanwhile. Raises UsageError (`turn_running`)."""
        if self.running is not None or self._held:
            raise UsageError("a turn of this session runs", code="turn_running", hint="cancel it first")
        self._held = True
        try:
            yield
        finally:
            self._held = False

    async def close(self) -> None:
        """End what runs and let go of the connection and the history."""
        self._closed = True
        if (running := self.running) is not None:
            self.cancel(running.turn)
            await asyncio.wait({running.done})
        await self._parts.model.close()
        self._parts.history.close()

    async def _run(self, turn_id: str, task: str, started_ns: int, box: Inbox, options: TurnOptions) -> Outcome:
        """A turn from its first event to its last. Errors that end it, and a cancel, are in the outcome."""
        parts = self._parts
        turn: Turn | None = None

        def ended(status: Status, text: str, error: LooplineError | None = None) -> Outcome:
            if turn is not None:
                return turn.report(status, text, error)
            return Outcome(status=status, text=text, calls=0, tools=0, error=error)

        parts.observer(TurnBegan(session_id=self.id, turn_id=turn_id, title=title_of(task), task=task))
        parts.workspace.changes.clear()
        outcome = ended("interrupted", "")
        background = parts.toolbox.begun()
        try:
            self._begins[turn_id] = parts.history.items.start, len(parts.history.items)
            parts.history.mark_turn(turn_id, "started")
            await self._open_turn(task, turn_id, options)
            await parts.toolbox.refresh()
            turn = self._turn(turn_id, box, options)
            reading_only = parts.toolbox.reading_only(options.mode == "plan")
            with undoing.recording(parts.checkpoints, turn_id), reading_only:
                try:
                    outcome = await turn.run()
                except LimitReached:
                    await self._tell_what_stays()
                    raise
                await self._look_behind(background)
        except asyncio.CancelledError:
            outcome = ended("cancelled", "cancelled")
            await parts.toolbox.stop_since(background)  # what a cancelled turn started ends with it
        except LooplineError as error:
            outcome = ended("failed", error.message, error)
            words = error.message + (f" ({error.hint})" if error.hint else "")
            parts.observer(Notice(severity="error", text=words, session_id=self.id))
        finally:
            self._queued += box.abandon()
            self._finish(turn_id, outcome, started_ns, options)
        return outcome

    async def _tell_what_stays(self) -> None:
        """A limit comes between two steps: what was being tried stays in the files, and that is said."""
        paths = [change.path for change in await self._parts.workspace.net_changes()]
        if paths:
            shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
            words = f"what this turn changed stays as it is, finished or not ({shown})"
            words += "; /undo in `loopline -c` takes it back"
            self._parts.observer(Notice(severity="warning", text=words, session_id=self.id))

    async def _look_behind(self, begun: int) -> None:
        """What commands in the background did by the end of the turn is its work too; what they do later is not, and
        that is said where one of this turn goes on."""
        parts = self._parts
        if parts.checkpoints is None or not parts.toolbox.begun():
            return
        async with parts.checkpoints.command(behind=True):
            pass
        if names := parts.toolbox.running_since(begun):
            words = f"{', '.join(names)} goes on in the background: what it changes from now on belongs to no turn, and"
            parts.observer(Notice(severity="info", text=f"{words} no undo takes it back", session_id=self.id))

    async def _open_turn(self, task: str, turn_id: str, options: TurnOptions) -> None:
        """Put what changed around and the user's words into the history; the words also if the turn is cancelled."""
        notes: list[bytes] = []
        try:
            await self._parts.workspace.hold()
            notes = await self._parts.context.before_turn()
        finally:
            queued, self._queued = self._queued, []
            words = [message("user", text) for text in (*queued, task)]
            mode = self._parts.context.mode(options.mode)
            self._parts.history.append([*notes, *mode, *words], turn_id)

    def _turn(self, turn_id: str, box: Inbox, options: TurnOptions = PLAIN) -> Turn:
        parts = self._parts
        offer = self._shaping.offer(options, asks=parts.questions.answerable)
        request = self._shaping.request(options, offer)
        return Turn(
            session_id=self.id,
            turn_id=turn_id,
            request=msgspec.structs.replace(request, turn=turn_id),
            history=parts.history,
            model=parts.model,
            tools=ToolRunner(
                session_id=self.id,
                turn_id=turn_id,
                toolbox=parts.toolbox,
                terms=parts.terms,
                approvals=parts.approvals,
                clock=parts.clock,
                observer=parts.observer,
                workspace=parts.workspace,
                checkpoints=parts.checkpoints,
                offer=offer,
                questions=parts.questions,
            ),
            context=parts.context,
            compactor=parts.compactor,
            spent=Spent(model=self.model, prices=parts.terms.prices),
            terms=parts.terms,
            clock=parts.clock,
            observer=parts.observer,
            inbox=box,
        )

    def _finish(self, turn_id: str, outcome: Outcome, started_ns: int, options: TurnOptions) -> None:
        parts = self._parts
        parts.history.mark_turn(turn_id, outcome.status, outcome.text)
        parts.observer(
            TurnEnded(
                session_id=self.id,
                turn_id=turn_id,
                status=outcome.status,
                text=outcome.text,
                duration_ms=(parts.clock.mono_ns() - started_ns) / 1e6,
                calls=outcome.calls,
                tools=outcome.tools,
                mode=options.mode,
                error_code=outcome.error.code if outcome.error is not None else None,
                exit_code=outcome.error.exit_code if outcome.error is not None else None,
            )
        )

    def _told_input(self, turn_id: str, given: Input, text: str) -> None:
        taken = InputTaken(session_id=self.id, turn_id=turn_id, input_id=given.input_id, text=text, fate=given.fate)
        self._parts.observer(taken)
