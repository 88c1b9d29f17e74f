"""The session that is on the screen: what the person says goes to it, what it tells goes to the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from agent_core.clock import Clock
from agent_core.errors import LooplineError
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import ContextSize, QuestionAsked, QuestionEnded, SessionOpened, TurnEnded, TurnEvent
from agent_core.turns.options import PLAIN, TurnOptions
from dashboard.agent.conversation.page import Conversation

if TYPE_CHECKING:
    from agent_core.hosting.port import SessionHost
    from agent_core.tools.editor.diagnostics import Diagnostic
    from agent_core.turns.question import Question
    from dashboard.agent.figures import SessionFigures
    from dashboard.agent.sessions.desk import Opened

STOP_S = 10.0
"""How long the end of a stopped turn is waited for, when the program is left."""


class Talk:
    """Implements `agent_core.hosting.port.FrontEnd`: the screen asks, so `ask` itself only waits. Owns the page and
    the subscription to its session."""

    name = "tui"
    documents = None

    def __init__(self, clock: Clock, changed: Callable[[], None], asked: Callable[[], None]) -> None:
        """`changed` is called whenever something is to be drawn, `asked` when a question came or went."""
        self.page = Conversation()
        self.host: SessionHost | None = None
        self.figures: SessionFigures | None = None
        self.model = self.endpoint = self.note = ""
        self.size: ContextSize | None = None
        self._clock, self._changed, self._asked = clock, changed, asked
        self._leave: Callable[[], None] = lambda: None
        self.options: TurnOptions = PLAIN
        """What is said of each turn from now on."""
        self._unsent: list[tuple[str, str]] = []
        self._before: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    # Taking a session up

    def begin(self, opened: Opened, figures: SessionFigures) -> None:
        """Show a session; what was written before there was one is said to it."""
        self.leave()
        host = opened.host
        self.host, self.figures, self.size = host, figures, None
        self.page = Conversation(opened.blocks)
        view = host.view()
        self.model = view.model
        self.page.resume(view.turns)
        self._leave = opened.relay.stop
        opened.relay.listen(self.observe)
        host.attend(self)
        for text, shown in self._unsent:
            self.say(text, shown, queue=False)
        self._unsent.clear()
        self._changed()
        self._asked()

    def moved(self, move: str, text: str) -> None:
        """The session is hosted elsewhere now; page and host stay."""
        self.page.note(text, "warning" if move == "lost" else "info")
        self._changed()

    def leave(self) -> None:
        """Look away; whatever runs there goes on."""
        self._leave()
        self._leave = lambda: None
        if self.host is not None:
            self.host.leave(self)

    def observe(self, event: TurnEvent) -> None:
        figures: tuple[str, ...] = ()
        if isinstance(event, TurnEnded) and self.figures is not None:
            self.figures.fold()
            figures = self.figures.of_turn(event.turn_id, self._clock.wall_ns())
        elif isinstance(event, ContextSize):
            self.size = event
        elif isinstance(event, SessionOpened):
            self.model, self.endpoint, self.note = event.model, event.endpoint, event.note
        waiting = len(self.page.open_approvals)
        self.page.apply(event, figures)
        self._changed()
        if len(self.page.open_approvals) != waiting or isinstance(event, QuestionAsked | QuestionEnded):
            self._asked()

    # Saying

    @property
    def runs(self) -> bool:
        return self.page.running is not None

    @property
    def is_here(self) -> bool:
        """Whether this process hosts the session."""
        return self.host is not None and self.host.view().place == "live"

    def say(self, text: str, shown: str, *, queue: bool) -> None:
        """To the turn that runs (`queue`: after it), else as a new turn."""
        if self.host is None:
            self._unsent.append((text, shown))
            return
        text = "\n\n".join([*self._before, text])
        self._before.clear()
        running = self.page.running
        if running is not None and not queue:
            self._do(self._steer(self.host, running, text))
            return
        turn = self.host.submit(text, options=self.options)
        self.page.say(shown, turn.turn_id, waits=running is not None)
        self._changed()

    def share(self, text: str) -> None:
        """Goes along with what is said next."""
        self._before.append(text)

    async def _steer(self, host: SessionHost, turn_id: str, text: str) -> None:
        await host.steer(turn_id, text)

    @property
    def waiting(self) -> Sequence[tuple[str, str]]:
        """(turn id, task) of the turns that were asked for here and wait."""
        if self.host is None:
            return ()
        return [(turn.turn_id, turn.task) for turn in self.host.view().turns if turn.status == "queued"]

    def take_back(self) -> str | None:
        """The latest turn that waits is not wanted after all; its text, to be written anew."""
        waiting = [(turn_id, task) for turn_id, task in self.waiting if turn_id != self.page.running]
        if not waiting or self.host is None:
            return None
        turn_id, task = waiting[-1]
        self._do(self.host.cancel(turn_id))
        self._changed()
        return task

    def stop(self) -> bool:
        """Stop the turn that runs; what it did is kept. False: none runs."""
        if self.host is None or (running := self.page.running) is None:
            return False
        self._do(self.host.cancel(running))
        return True

    async def stopped(self) -> None:
        """Stop what runs and waits here, and wait for its end, `STOP_S` seconds at most."""
        if self.host is not None and self.runs:
            await asyncio.wait({asyncio.ensure_future(self.host.cancel_all())}, timeout=STOP_S)

    # Answering

    async def ask(self, approval: Approval) -> Decision | None:
        """The screen answers through the host; then this is cancelled."""
        await asyncio.get_running_loop().create_future()
        return None

    @property
    def answers(self) -> bool:
        """Whether somebody can answer the model's questions here."""
        return True

    async def put(self, question: Question) -> str | None:
        """The screen answers through the host; then this is cancelled."""
        await asyncio.get_running_loop().create_future()
        return None

    def reply(self, question_id: str, text: str) -> None:
        """Answer what the model asks."""
        if self.host is not None:
            self._do(self._replied(self.host, question_id, text))

    async def _replied(self, host: SessionHost, question_id: str, text: str) -> None:
        if not await host.reply(question_id, text, by=self.name):
            self.page.note("that was answered elsewhere already")
            self._changed()

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return ()

    def answer(self, approval: Approval, decision: Decision, why: str = "") -> None:
        """`why` goes to the turn with a denial."""
        if self.host is not None:
            self._do(self._answer(self.host, approval, decision, why))

    async def _answer(self, host: SessionHost, approval: Approval, decision: Decision, why: str) -> None:
        if why:
            await host.steer(approval.turn_id, why)
        if not await host.answer(approval.approval_id, decision, by=self.name):
            self.page.note("that was answered elsewhere already")
            self._changed()

    def compact(self) -> None:
        """Make the conversation shorter, once nothing runs."""
        if self.host is not None:
            self._do(self.host.compact())

    # Undoing

    def undo(self, *, redo: bool = False) -> None:
        turn_id = self.page.last_undo if redo else self.page.last_turn
        if self.host is None or turn_id is None:
            self.page.note("there is nothing to take back" if not redo else "nothing was taken back", "warning")
            self._changed()
            return
        self._do(self.host.undo(turn_id))

    def _do(self, work: Awaitable[object]) -> None:
        """In a task of its own; what is wrong with it is said on the page."""
        task = asyncio.create_task(self._told(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _told(self, work: Awaitable[object]) -> None:
        try:
            await work
        except LooplineError as error:
            self.page.note(error.message + (f" ({error.hint})" if error.hint else ""), "error")
            self._changed()
