"""How long the engine goes on before it says that it cannot fix something."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    search_s: float = 42.0
    """Seconds of trials in all, as the trials themselves report them; up to twice as long on a busy machine."""
    trial_s: float = 12.0
    """Seconds of one command that tries candidates; some clients let no command run longer than half a minute."""
    tries_in_place: int = 90
    """Edits tried where each takes two calls and a run of the tests."""
