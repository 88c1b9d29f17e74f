"""What a call costs, from a dated table of list prices. Pure.

A cost is an estimate: list price, standard tier, no contract. A model without a price has an unknown cost, never 0.
Money is counted in whole nano-dollars, so that sums do not depend on their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from agent_core.errors import ConfigError
from agent_core.telemetry.rollup.usage import exceeds, is_negative

NANO = 1_000_000_000
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}\Z")


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens, each rate: `input`, `output`, `cached`, `cache_write`, and for long calls
    `long_input`, `long_output`, `long_cached`, `long_cache_write`. None: no separate rate, the tokens cost what other
    input costs."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    long_from: int | None = None
    """From more than this many input tokens on, the whole call is charged at the `long_*` rates; None: one rate."""
    long_input: float | None = None
    long_output: float | None = None
    long_cached: float | None = None
    long_cache_write: float | None = None


class PriceTable:
    """Prices as of `date` (YYYY-MM-DD)."""

    def __init__(self, date: str, prices: Mapping[str, Price]) -> None:
        self.date = date
        self._prices = dict(prices)

    def price(self, model: str) -> Price | None:
        """By exact name, else by the name without a snapshot date (`gpt-5-2025-08-07`); nothing else is guessed."""
        return self._prices.get(model) or self._prices.get(_SNAPSHOT.sub("", model))

    def knows(self, model: str) -> bool:
        return self.price(model) is not None

    def cost_nano(
        self,
        model: str,
        *,
        input_tokens: int | None,
        cached_tokens: int | None,
        cache_write_tokens: int | None,
        output_tokens: int | None,
    ) -> int | None:
        """Nano-dollars of one call with inclusive counts, each token charged once; None if price or counts are
        unknown or suspect.

        Cached tokens that a provider does not report are charged as fresh input, which makes the estimate an upper
        bound.
        """
        price = self.price(model)
        if price is None or input_tokens is None or output_tokens is None:
            return None
        if exceeds(input_tokens, cached_tokens, cache_write_tokens):
            return None
        if is_negative(input_tokens, cached_tokens, cache_write_tokens, output_tokens):
            return None
        cached, written = cached_tokens or 0, cache_write_tokens or 0
        long = price.long_from is not None and input_tokens > price.long_from
        fresh_rate = _or(price.long_input, price.input) if long else price.input
        read_rate = _or(price.long_cached, fresh_rate) if long else _or(price.cached, fresh_rate)
        write_rate = _or(price.long_cache_write, fresh_rate) if long else _or(price.cache_write, fresh_rate)
        output_rate = _or(price.long_output, price.output) if long else price.output
        return (
            (input_tokens - cached - written) * _nano_per_token(fresh_rate)
            + cached * _nano_per_token(read_rate)
            + written * _nano_per_token(write_rate)
            + output_tokens * _nano_per_token(output_rate)
        )

    def with_prices(self, date: str, data: Mapping[str, object], where: str) -> PriceTable:
        """This table with a user's own prices over it (`{model: {input, output, …}}`); raises `ConfigError` naming
        the model."""
        added: dict[str, Price] = {}
        for model, entry in data.items():
            try:
                added[model] = msgspec.convert(entry, Price)
            except msgspec.ValidationError as error:
                raise ConfigError(
                    where,
                    f"prices.{model}",
                    "dollars per million tokens: input, output, cached, cache_write",
                    got=str(error),
                ) from error
        return PriceTable(date, {**self._prices, **added})


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _nano_per_token(usd_per_million: float) -> int:
    return round(usd_per_million * 1000)


_LONG = 272_000
_FREE = Price(0.0, 0.0)

LIST_PRICES = PriceTable(
    "2026-07-24",
    {
        "repair": _FREE,  # runs on the user's machine
        "scripted": _FREE,
        "gpt-4.1": Price(2.0, 8.0, 0.5),
        "gpt-4.1-mini": Price(0.4, 1.6, 0.1),
        "gpt-4.1-nano": Price(0.1, 0.4, 0.025),
        "gpt-4o": Price(2.5, 10.0, 1.25),
        "gpt-4o-mini": Price(0.15, 0.6, 0.075),
        "gpt-5": Price(1.25, 10.0, 0.125),
        "gpt-5-codex": Price(1.25, 10.0, 0.125),
        "gpt-5-mini": Price(0.25, 2.0, 0.025),
        "gpt-5-nano": Price(0.05, 0.4, 0.005),
        "gpt-5-pro": Price(15.0, 120.0),
        "gpt-5.1": Price(1.25, 10.0, 0.125),
        "gpt-5.1-codex": Price(1.25, 10.0, 0.125),
        "gpt-5.1-codex-max": Price(1.25, 10.0, 0.125),
        "gpt-5.1-codex-mini": Price(0.25, 2.0, 0.025),
        "gpt-5.2": Price(1.75, 14.0, 0.175),
        "gpt-5.2-codex": Price(1.75, 14.0, 0.175),
        "gpt-5.2-pro": Price(21.0, 168.0),
        "gpt-5.3-codex": Price(1.75, 14.0, 0.175),
        "gpt-5.4": Price(2.5, 15.0, 0.25, None, _LONG, 5.0, 22.5, 0.5),
        "gpt-5.4-mini": Price(0.75, 4.5, 0.075),
        "gpt-5.4-nano": Price(0.2, 1.25, 0.02),
        "gpt-5.5": Price(5.0, 30.0, 0.5, None, _LONG, 10.0, 45.0, 1.0),
        "gpt-5.6": Price(5.0, 30.0, 0.5, 6.25, _LONG, 10.0, 45.0, 1.0, 12.5),
        "gpt-5.6-luna": Price(1.0, 6.0, 0.1, 1.25, _LONG, 2.0, 9.0, 0.2, 2.5),
        "gpt-5.6-sol": Price(5.0, 30.0, 0.5, 6.25, _LONG, 10.0, 45.0, 1.0, 12.5),
        "gpt-5.6-terra": Price(2.5, 15.0, 0.25, 3.125, _LONG, 5.0, 22.5, 0.5, 6.25),
        "gpt-6-astra": Price(10.0, 50.0, 1.0, 12.5, 272000, 20.0, 75.0, 2.0),
        "gpt-6-sol": Price(2.0, 10.0, 0.2, 2.5, 272000, 4.0, 15.0, 0.4),
        "gpt-6-luna": Price(0.1, 0.5, 0.01, 0.125, 272000, 0.2, 0.75, 0.02),
        "claude-opus-4-5": Price(5.0, 25.0, 0.5, 6.25),
        "claude-opus-4-6": Price(5.0, 25.0, 0.5, 6.25),
        "claude-opus-4-7": Price(5.0, 25.0, 0.5, 6.25),
        "claude-sonnet-4-5": Price(3.0, 15.0, 0.3, 3.75),
        "claude-sonnet-4-6": Price(3.0, 15.0, 0.3, 3.75),
        "claude-sonnet-5": Price(2.0, 10.0, 0.2, 2.5),
        "claude-haiku-4-5": Price(1.0, 5.0, 0.1, 1.25),
        "claude-fable-5": Price(10.0, 50.0, 1.0, 12.5),
        "gemini-2.5-pro": Price(1.25, 10.0, 0.125, None, 200000, 2.5, 15.0, 0.25),
        "gemini-2.5-flash": Price(0.3, 2.5, 0.03),
        "gemini-3-flash-preview": Price(0.5, 3.0, 0.05),
        "gemini-3.1-pro-preview": Price(2.0, 12.0, 0.2, None, 200000, 4.0, 18.0, 0.4),
        "gemini-3.8-flash": Price(0.75, 3.75, 0.075),
        "deepseek-chat": Price(0.28, 0.42, 0.028),
        "deepseek-reasoner": Price(0.28, 0.42, 0.028),
        "deepseek-v4-flash": Price(0.3, 1.2, 0.006),
        "deepseek-v4-pro": Price(1.32, 3.96, 0.044),
        "kimi-k2.5": Price(0.6, 3.0, 0.1),
        "kimi-k2.6": Price(0.95, 4.0, 0.16),
        "kimi-k3": Price(3.0, 15.0, 0.3, 3.0),
        "glm-4.6": Price(0.6, 2.2, 0.11),
        "glm-4.7": Price(0.6, 2.2, 0.11),
        "glm-5": Price(1.0, 3.2, 0.2),
        "glm-5.2": Price(1.4, 4.4, 0.26),
        "mistral-large-latest": Price(0.5, 1.5, 0.05),
        "mistral-medium-latest": Price(1.5, 7.5, 0.15),
        "mistral-small-latest": Price(0.15, 0.6, 0.015),
        "devstral-latest": Price(0.4, 2.0, 0.04),
        "codestral-latest": Price(0.3, 0.9, 0.03),
        "grok-4.3": Price(1.25, 2.5, 0.2, None, 200000, 2.5, 5.0, 0.4),
        "grok-4.7": Price(2.0, 6.0, 0.5, None, 200000, 4.0, 12.0, 1.0),
        "grok-code-fast-1": Price(1.0, 2.0, 0.2, None, 200000, 2.0, 4.0, 0.4),
        "qwen3.7-max": Price(2.5, 7.5, 0.5, 3.125),
        "qwen3.8-max": Price(2.0, 6.0, 0.25),
        "o3": Price(2.0, 8.0, 0.5),
        "o3-mini": Price(1.1, 4.4, 0.55),
        "o4-mini": Price(1.1, 4.4, 0.275),
    },
)
"""Standard tier, from BerriAI/litellm's `model_prices_and_context_window.json`: OpenAI's to gpt-5.6 of that day, the
others of 2026-12-01 (release 1.110.2). Settings can lay own prices over it."""
