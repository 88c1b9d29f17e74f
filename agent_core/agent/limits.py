"""The limits of a turn, in one function. 0 means no limit everywhere."""

from __future__ import annotations

import msgspec

from agent_core.config import Settings
from agent_core.errors import LimitReached


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`calls` to the model, `wall_s` seconds, `tokens` in plus out, `repeats` of an equal failing tool call."""

    calls: int = 200
    wall_s: float = 3600.0
    tokens: int = 0
    repeats: int = 4

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        return cls(
            calls=settings.max_calls,
            wall_s=settings.max_minutes * 60,
            tokens=settings.max_tokens,
            repeats=settings.max_repeats,
        )


class Spent(msgspec.Struct, kw_only=True):
    """What a turn has used so far. The turn owns it."""

    calls: int = 0
    wall_s: float = 0.0
    tokens: int = 0
    last_failure: str = ""
    repeats: int = 0

    def tool_result(self, signature: str, failed: bool) -> None:
        """Count a tool result; `signature` is the tool's name, arguments and output."""
        if not failed:
            self.last_failure, self.repeats = "", 0
        elif signature == self.last_failure:
            self.repeats += 1
        else:
            self.last_failure, self.repeats = signature, 1


def check(spent: Spent, limits: Limits) -> None:
    """Raise LimitReached if another call may not start."""
    reached = (
        ("calls", spent.calls, limits.calls, f"{limits.calls} calls"),
        ("minutes", spent.wall_s, limits.wall_s, f"{limits.wall_s / 60:g} minutes"),
        ("tokens", spent.tokens, limits.tokens, f"{limits.tokens:,} tokens"),
        ("repeats", spent.repeats, limits.repeats, f"the same failing tool call {limits.repeats} times in a row"),
    )
    for key, used, allowed, words in reached:
        if allowed and used >= allowed:
            raise LimitReached(
                f"stopped at the limit of this turn: {words}",
                code=f"limit_{key}",
                hint=f"raise `limits.{key}` in the configuration, or give the next task",
            )
