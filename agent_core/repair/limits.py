"""How long the engine goes on before it says that it cannot fix something."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchLimits:
    search_s: float = 42.0
    """Seconds of trials in all, as the trials themselves report them; up to three times as long on a busy machine."""
    trial_s: float = 12.0
    """Seconds of one command that tries candidates; some clients let no command run longer than half a minute."""
    look_s: float = 3.0
    """Seconds of the first look at the tests: what fails is said after it."""
    survey_s: float = 14.0
    """Seconds of the second look, where the first one could not see all."""
    quick_s: float = 6.0
    """What a whole suite may take to be run for every edit that makes the failing tests pass."""
    tries_in_place: int = 50
    """Edits tried where each takes two calls and a run of the tests."""
