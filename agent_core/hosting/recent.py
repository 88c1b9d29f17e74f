"""The text of the running call, for whoever comes in its middle. Pure."""

from __future__ import annotations

import msgspec

from agent_core.turns.events import TextDelta, TextDone, TextVoided, TurnBegan, TurnEnded, TurnEvent


class RunningText:
    """An observer that keeps what the running call has said so far."""

    def __init__(self) -> None:
        self._last: TextDelta | None = None
        self._pieces: list[str] = []

    def __call__(self, event: TurnEvent) -> None:
        match event:
            case TextDelta(text=text):
                self._last = event
                self._pieces.append(text)
            case TextDone() | TextVoided() | TurnBegan() | TurnEnded():
                self._pieces.clear()

    def so_far(self) -> TextDelta | None:
        """As if it came at once; None if there is none."""
        if self._last is None or not self._pieces:
            return None
        return msgspec.structs.replace(self._last, text="".join(self._pieces))
