"""The limits of a turn, in one function. 0 means no limit everywhere."""

from __future__ import annotations

import msgspec

from agent_core.config.settings import Settings
from agent_core.errors import LimitReached
from agent_core.model.port import Usage
from agent_core.telemetry.rollup.prices import LIST_PRICES, NANO, PriceTable


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`calls` to the model, `wall_s` seconds, `tokens` in plus out, `cost_usd` by list price, `repeats` of an equal
    failing tool call."""

    calls: int = 200
    wall_s: float = 3600.0
    tokens: int = 0
    cost_usd: float = 0.0
    repeats: int = 4

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        return cls(
            calls=settings.max_calls,
            wall_s=settings.max_minutes * 60,
            tokens=settings.max_tokens,
            cost_usd=settings.max_cost,
            repeats=settings.max_repeats,
        )


class Spent(msgspec.Struct, kw_only=True):
    """What a turn has used so far. The turn owns it. Calls that tell no usage add nothing to tokens and cost."""

    model: str = ""
    prices: PriceTable = LIST_PRICES
    calls: int = 0
    wall_s: float = 0.0
    tokens: int = 0
    cost_nano: int = 0
    last_failure: str = ""
    repeats: int = 0

    def call(self, usage: Usage | None) -> None:
        """A call ended, whichever way."""
        self.calls += 1
        if usage is None:
            return
        self.tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
        cost = self.prices.cost_nano(
            self.model,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
        )
        self.cost_nano += cost or 0

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
        ("cost", spent.cost_nano / NANO, limits.cost_usd, f"{limits.cost_usd:g} US dollars by list price"),
        ("repeats", spent.repeats, limits.repeats, f"the same failing tool call {limits.repeats} times in a row"),
    )
    for key, used, allowed, words in reached:
        if allowed and used >= allowed:
            raise LimitReached(
                f"stopped at the limit of this turn: {words}",
                code=f"limit_{key}",
                hint=f"raise `limits.{key}` in the configuration, or give the next task",
            )
