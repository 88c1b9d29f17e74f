"""Input that arrives while a turn runs: each gets an id and exactly one fate.

`steered`: it goes to the model with the turn's next call. `queued`: the turn was over, it opens the next one.
`refused`: it said nothing, or the session is closed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.clock import new_id

Fate = Literal["steered", "queued", "refused"]


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One input and what became of it."""

    input_id: str
    text: str
    fate: Fate


class Inbox:
    """Texts for one turn. Once `close` says so, nothing more is taken."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._open = True

    def put(self, text: str) -> bool:
        """Take `text` for the next call; False if the turn takes no more."""
        if self._open:
            self._waiting.append(text)
        return self._open

    def take(self) -> list[str]:
        """What came since the last time, oldest first."""
        taken, self._waiting = self._waiting, []
        return taken

    def close(self) -> bool:
        """Take no more; False, and still open, if something waits."""
        self._open = bool(self._waiting)
        return not self._open

    def abandon(self) -> list[str]:
        """Close whatever waits and give it back."""
        self._open = False
        return self.take()


def make(text: str, fate: Fate) -> Input:
    return Input(input_id=new_id("inp"), text=text, fate=fate)
