"""The turns of one session as a host keeps them: asked for, running, ended, taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_core.clock import Clock, new_id, rfc3339
from agent_core.errors import LooplineError, UsageError
from agent_core.turns.events import EndStatus, TurnBegan, TurnEnded, TurnEvent, TurnUndone, title_of
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.turns.views import TurnView


class TurnList:
    """Owned by the session's `Audience`, which feeds it every event. `title` is that of the first turn."""

    def __init__(self, session_id: str, clock: Clock, *, title: str = "") -> None:
        self._session_id, self._clock, self.title = session_id, clock, title
        self._turns: list[TurnView] = []
        self._undone: set[str] = set()

    def __iter__(self) -> Iterator[TurnView]:
        return iter(self._turns)

    def get(self, turn_id: str) -> TurnView | None:
        return next((turn for turn in self._turns if turn.turn_id == turn_id), None)

    def known(self, turn_id: str) -> TurnView:
        """Raises UsageError (`unknown_turn`)."""
        turn = self.get(turn_id)
        if turn is None:
            raise UsageError(f"there is no turn {turn_id[:80]!r}", code="unknown_turn")
        return turn

    def knows(self, turn_id: str) -> bool:
        """Whether it is a turn, or the undoing of one."""
        return turn_id in self._undone or self.get(turn_id) is not None

    def check_undo(self, turn_id: str) -> None:
        """Raises UsageError (`unknown_turn`, `turn_running`)."""
        if turn_id not in self._undone and not self.known(turn_id).is_over:
            raise UsageError("the turn runs", code="turn_running", hint="cancel it first")

    @property
    def latest(self) -> TurnView | None:
        return self._turns[-1] if self._turns else None

    @property
    def open(self) -> list[TurnView]:
        """Those that run or wait."""
        return [turn for turn in self._turns if not turn.is_over]

    @property
    def queued(self) -> list[TurnView]:
        """Those that wait, in order."""
        return [turn for turn in self._turns if turn.status == "queued"]

    def add(self, task: str, title: str = "", options: TurnOptions = PLAIN) -> TurnView:
        """A turn that is asked for now."""
        title = title or title_of(task)
        started = rfc3339(self._clock.wall_ns())
        turn = TurnView(turn_id=new_id("turn"), title=title, task=task, started=started, options=options)
        self.title = self.title or title
        self._turns.append(turn)
        return turn

    def merge(self, turns: Sequence[TurnView]) -> None:
        """`turns` stand for those of the same ids, and come last."""
        theirs = {turn.turn_id for turn in turns}
        self._turns = [turn for turn in self._turns if turn.turn_id not in theirs] + list(turns)

    def prepend(self, turns: Sequence[TurnView]) -> None:
        """Earlier turns; what is known of one already stays."""
        self._turns[:0] = [turn for turn in turns if self.get(turn.turn_id) is None]

    def note_begun(self, turn_id: str, task: str) -> None:
        """A turn runs; what is known of it already stays."""
        if self.get(turn_id) is None:
            self.note(TurnBegan(session_id=self._session_id, turn_id=turn_id, title=title_of(task)))

    def note(self, event: TurnEvent) -> None:
        """Keep turns as an event says they are."""
        match event:
            case TurnBegan(turn_id=turn_id) if (known := self.get(turn_id)) is not None:
                known.status = "running"
            case TurnBegan(turn_id=turn_id, title=title):  # another process started it
                self.title = self.title or title
                now = rfc3339(self._clock.wall_ns())
                begun = TurnView(turn_id=turn_id, title=title, task=title, started=now, status="running")
                self._turns.append(begun)
            case TurnEnded(turn_id=turn_id) if (known := self.get(turn_id)) is not None:
                known.status, known.text = event.status, event.text
            case TurnUndone(undo_id=str(undo_id)):
                self._undone.add(undo_id)

    def began(self, turn: TurnView) -> TurnBegan:
        return TurnBegan(session_id=self._session_id, turn_id=turn.turn_id, title=turn.title, task=turn.title)

    def ended(self, turn: TurnView, status: EndStatus, text: str, error: LooplineError | None = None) -> TurnEnded:
        """The end of a turn of which the core tells none, and the error that ended it."""
        return TurnEnded(
            session_id=self._session_id,
            turn_id=turn.turn_id,
            status=status,
            text=text,
            duration_ms=0.0,
            error_code=error.code if error is not None else None,
            exit_code=error.exit_code if error is not None else None,
        )
