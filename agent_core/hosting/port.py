"""The one port of all front ends: a session, wherever it runs.

`manager.SessionManager` gives it. `local.LocalHost` keeps the core's session in this process, `attached.AttachedHost`
follows one that another process hosts; a session can move from one to the other, and a front end knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from agent_core.errors import LooplineError
from agent_core.telemetry.emitter import Sink
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.tools.workspace.changes import Change
from agent_core.tools.workspace.workspace import Documents
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import Observer, TurnEnded
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.turns.views import Said, SessionView, Steered, TurnView


class FrontEndGone(LooplineError):
    """The front end that was asked is not there any more, or does not do what it was asked."""

    code = "front_end"


class FrontEnd(Protocol):
    """What a session works for: it is asked, and its unsaved buffers count."""

    @property
    def name(self) -> str:
        """`cli`, `lsp`, …: who answered an approval."""

    @property
    def documents(self) -> Documents | None: ...

    async def ask(self, approval: Approval) -> Decision | None:
        """None: nobody can answer here. Cancelled once somebody else answered. Raises FrontEndGone."""

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]: ...


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn came to in files; `more` counts those that are not named."""

    files: tuple[Change, ...] = ()
    more: int = 0


class SessionHost(Protocol):
    """One session. It owns its queue: turns run one after the other."""

    @property
    def id(self) -> str: ...

    @property
    def front_end(self) -> FrontEnd | None:
        """Whom the session works for at the moment."""

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits in this process."""

    @property
    def attended(self) -> bool:
        """Whether another process follows the session, which this one hosts."""

    def view(self) -> SessionView:
        """As of now, without I/O."""

    def turn(self, turn_id: str) -> TurnView | None: ...

    def knows(self, turn_id: str) -> bool:
        """Whether it is a turn, or the undoing of one, of this session."""

    def submit(self, task: str, *, title: str = "", options: TurnOptions = PLAIN) -> TurnView:
        """Queue a turn, at once. `title` empty: the task's first line. Options that the model does not take end the
        turn when it would begin."""

    async def say(self, text: str, *, options: TurnOptions = PLAIN) -> Said:
        """Say something to the turn that runs; where none does (any more), it starts one, with `options`."""

    async def ended(self, turn_id: str) -> TurnEnded:
        """Wait for a turn's end. Giving up the wait cancels nothing. Raises UsageError (`unknown_turn`), LooplineError
        if the session is closed before."""

    async def cancel(self, turn_id: str) -> None:
        """Tell a turn to stop, and return: front ends answer their users at once, and several turns must be told before
        the first has ended. `ended` returns once nothing of it is left. Cancelling a turn that ended is no error.
        Raises UsageError (`unknown_turn`)."""

    async def steer(self, turn_id: str, text: str) -> Steered:
        """Raises UsageError (`unknown_turn`)."""

    async def undo(self, turn_id: str, *, files: bool = True, conversation: bool = False) -> None:
        """Take back what a turn did, once nothing runs; what comes of it is told as an event. `files`: what it changed,
        and the model is told; `conversation`: the model forgets it and what was said since. `turn_id` may be the id of
        an earlier undoing. Raises UsageError (`unknown_turn`, `turn_running`)."""

    async def compact(self) -> None:
        """Make the conversation shorter, once nothing runs; what comes of it is told as a notice and a `ContextSize`.
        Returns at once. Where a turn runs in another process a notice says that it was not done."""

    async def answer(self, approval_id: str, decision: Decision, *, by: str) -> bool:
        """False: it is not one of this session's, or not open any more."""

    async def reply(self, question_id: str, text: str, *, by: str) -> bool:
        """Answer what the model asks. False: it is not one of this session's, or not open any more."""

    async def changes(self, turn_id: str) -> Changes:
        """What the turn came to in files so far, from the checkpoints where it is not the latest here."""

    def place_of(self, shown: str) -> Path | None:
        """The file that a path of this session's events means; None where that is not known here."""

    def subscribe(self, observer: Observer, *, sink: Sink | None = None, catch_up: bool = False) -> Callable[[], None]:
        """Every turn event, and every event of telemetry for `sink`, from now on; call what is returned to stop.
        `catch_up`: first how things stand, as the events that would have told it: how the session was opened, the turn
        that runs with its text so far, and what waits for an answer."""

    def attend(self, front_end: FrontEnd) -> None:
        """From now on the session works for `front_end`; what is open is asked there."""

    def leave(self, front_end: FrontEnd) -> None:
        """`front_end` is gone; whatever runs goes on, questions wait for the next one."""

    def warm(self) -> None:
        """Open the session, so that the first turn finds it ready. What keeps it from that is told as a notice."""

    async def ready(self) -> None:
        """Open the session now. Raises LooplineError: what keeps it from that."""

    def reconfigure(self, *, roots: tuple[Path, ...] | None = None, model: str | None = None) -> None:
        """Settings changed: they are read anew, by `OpenOptions.settings`, and hold from the next turn on, and so does
        `model`. Other `roots` hold at once. None: as before."""

    async def cancel_all(self) -> None:
        """Returns once nothing of any turn in this process is left. Bound the wait."""

    async def close(self) -> None: ...
