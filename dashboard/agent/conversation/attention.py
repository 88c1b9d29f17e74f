"""When a key may answer a question: only after the question was in sight, and not in the middle of typing. Pure."""

from __future__ import annotations

QUIET_S = 0.6
"""Whoever typed up to the moment of the question must pause so long before a key answers it."""


class Attention:
    """Owned by the screen. All instants are of one clock, in seconds."""

    def __init__(self) -> None:
        self._shown_s: float | None = None
        self._typed_s = float("-inf")

    def showed(self, now_s: float) -> None:
        """The question is on the screen now."""
        self._shown_s = now_s

    def gone(self) -> None:
        self._shown_s = None

    def typed(self, at_s: float) -> None:
        """A key was pressed that was no answer."""
        self._typed_s = max(self._typed_s, at_s)

    def may_answer(self, pressed_s: float) -> bool:
        """Whether a key that was pressed then is meant for the question."""
        if self._shown_s is None or pressed_s <= self._shown_s:
            return False
        return pressed_s - self._typed_s >= QUIET_S
