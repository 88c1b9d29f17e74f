"""What whoever comes to a session late has to be told: how things stand in its latest turn. Pure."""

from __future__ import annotations

import msgspec

from agent_core.turns.events import ContextSize, Plan, TextDelta, TextDone, TextVoided, TurnBegan, TurnEnded
from lsp_server.protocol.events import AnyEvent, Call, Stages, TurnDiff


class Recent:
    """Of one session: the text of the running call, and the latest of each kind of event that stands until the next."""

    def __init__(self) -> None:
        self._turn_id = ""
        self._last: TextDelta | None = None
        self._pieces: list[str] = []
        self._standing: dict[type[msgspec.Struct], AnyEvent] = {}

    def put(self, event: msgspec.Struct) -> None:
        match event:
            case TurnBegan(turn_id=turn_id):
                self._turn_id = turn_id
                self._pieces.clear()
                size = self._standing.get(ContextSize)
                self._standing = {} if size is None else {ContextSize: size}
            case TextDelta(text=text):
                self._last = event
                self._pieces.append(text)
            case TextDone() | TextVoided() | TurnEnded():
                self._pieces.clear()
            case ContextSize():
                self._standing[ContextSize] = event
            case Plan() | TurnDiff() | Call() | Stages() if event.turn_id == self._turn_id:
                self._standing[type(event)] = event

    def events(self, *, text_too: bool) -> list[AnyEvent]:
        """The text of the running call so far, as if it came at once (`text_too`: for whoever did not get it), then
        what replaces what was told before: plan, diff and figures."""
        begun: list[AnyEvent] = []
        if text_too and self._last is not None and self._pieces:
            begun.append(msgspec.structs.replace(self._last, text="".join(self._pieces)))
        return [*begun, *self._standing.values()]
