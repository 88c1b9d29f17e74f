"""What is told of a model's reasoning while a call runs: pieces as they come, and its end with its time. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from agent_core.clock import Clock
from agent_core.model.port import (
    CallItem,
    CallResult,
    ItemStarted,
    ReasoningDelta,
    Restarted,
    TextDelta,
    ToolArgumentsDelta,
)
from agent_core.turns import events as told
from agent_core.turns.events import TurnEvent

_ENDS = (TextDelta, ToolArgumentsDelta, ItemStarted, CallResult)
_PARAGRAPH = "\n\n"


class Thinking:
    """Belongs to one turn, for its calls one after the other. Owns the text and the clock of the reasoning that runs.

    Items of reasoning that follow each other are one; whatever else the model begins ends it.
    """

    def __init__(self, session_id: str, turn_id: str, clock: Clock) -> None:
        self._ids = {"session_id": session_id, "turn_id": turn_id}
        self._clock = clock
        self._began_ns: int | None = None
        self._pieces: list[str] = []
        self._parted = False

    def of(self, item: CallItem) -> Iterable[TurnEvent]:
        """What is to be told because of `item`, before anything else that it is."""
        if isinstance(item, ReasoningDelta):
            return (self._piece(item.text),)
        if isinstance(item, ItemStarted) and item.kind == "reasoning":
            self._begin()
            self._parted = bool(self._pieces)
            return ()
        if isinstance(item, Restarted):
            self._clear()
            return ()
        if isinstance(item, _ENDS):
            return self.end()
        return ()

    def end(self) -> Iterable[TurnEvent]:
        """It is over: the answer begins, or the call broke off. Nothing if none ran."""
        if self._began_ns is None:
            return ()
        duration_ms = (self._clock.mono_ns() - self._began_ns) / 1e6
        done = told.ReasoningDone(**self._ids, duration_ms=duration_ms, text="".join(self._pieces))
        self._clear()
        return (done,)

    def _piece(self, text: str) -> TurnEvent:
        self._begin()
        if self._parted:
            text, self._parted = _PARAGRAPH + text, False
        self._pieces.append(text)
        return told.ReasoningDelta(**self._ids, text=text)

    def _begin(self) -> None:
        if self._began_ns is None:
            self._began_ns = self._clock.mono_ns()

    def _clear(self) -> None:
        self._began_ns, self._parted = None, False
        self._pieces.clear()
