"""What whoever comes to a session late has to be told: how things stand in its latest turn. Pure."""

from __future__ import annotations

from agent_core.turns.events import TextDone, TextPiece, TextVoided, TurnBegan, TurnEnded, Update
from lsp_server.protocol import events as ev


class Recent:
    """Of one session. `note` takes its updates, `put` events that stand until the next of their kind."""

    def __init__(self, session: str) -> None:
        self._session, self._turn = session, ""
        self._pieces: list[str] = []
        self._standing: dict[type[ev.Event], ev.AnyEvent] = {}

    def note(self, update: Update) -> None:
        match update:
            case TurnBegan(turn=turn):
                self._turn = turn
                self._pieces.clear()
                self._standing.clear()
            case TextPiece(text=text):
                self._pieces.append(text)
            case TextDone() | TextVoided() | TurnEnded():
                self._pieces.clear()

    def put(self, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.Plan | ev.TurnDiff | ev.Call | ev.Stages) and event.turn_id == self._turn:
            self._standing[type(event)] = event

    def events(self, *, text_too: bool) -> list[ev.AnyEvent]:
        """The text of the running call so far, as if it came at once (`text_too`: for whoever did not get it), then
        what replaces what was told before: plan, diff and figures."""
        text = "".join(self._pieces) if text_too else ""
        begun = [ev.TextDelta(session_id=self._session, turn_id=self._turn, text=text)] if text else []
        return [*begun, *self._standing.values()]
