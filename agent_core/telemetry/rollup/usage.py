"""Normalises a provider's token usage, in one place. Pure.

Ours is inclusive (OpenTelemetry GenAI): `input_tokens` contains the cached and the written tokens, `output_tokens`
the reasoning ones. What a provider does not report stays None. Which providers count exclusively is stated, never
guessed from the sizes of numbers (langfuse/langfuse#13724).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Buckets = Literal["inclusive", "exclusive"]
"""`inclusive`: input contains the cached tokens (OpenAI). `exclusive`: input, cache read and cache write are disjoint
(Anthropic)."""


class TokenUsage(msgspec.Struct, frozen=True):
    """Counts of one call, inclusive. `suspect` means that a count is negative, or that the parts exceed their whole:
    the provider counts in another way than stated."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    suspect: bool = False

    @property
    def fresh_input_tokens(self) -> int | None:
        """Input that was neither read from nor written to a cache; None if that can't be told."""
        return fresh_input(self.input_tokens, self.cached_tokens, self.cache_write_tokens)


def fresh_input(input_tokens: int | None, cached: int | None, written: int | None) -> int | None:
    """The exclusive bucket behind inclusive counts: a count that is not reported takes nothing away; None if parts
    exceed the whole."""
    if input_tokens is None or is_negative(input_tokens, cached, written):
        return None
    fresh = input_tokens - (cached or 0) - (written or 0)
    return fresh if fresh >= 0 else None


def exceeds(whole: int | None, *parts: int | None) -> bool:
    """Whether known parts are more than their known whole."""
    return whole is not None and sum(part or 0 for part in parts) > whole


def is_negative(*counts: int | None) -> bool:
    """Whether one of them is known and below 0."""
    return any(count is not None and count < 0 for count in counts)


def normalise_usage(raw: Mapping[str, object] | None, buckets: Buckets = "inclusive") -> TokenUsage | None:
    """The usage of a terminal event or body; None if there is none.

    Reads the field names of the Responses API, of Chat Completions and of Anthropic's Messages. Each usage object
    stands for itself: where a call reports several, the last one replaces the earlier ones as a whole, so that a
    repeated event changes nothing and a later 0 clears an earlier count.
    """
    if not raw:
        return None
    of_input = _mapping(raw, "input_tokens_details") or _mapping(raw, "prompt_tokens_details")
    of_output = _mapping(raw, "output_tokens_details") or _mapping(raw, "completion_tokens_details")
    input_tokens = _first(raw, "input_tokens", "prompt_tokens")
    cached = _first(of_input, "cached_tokens")
    written = _first(of_input, "cache_write_tokens")
    if buckets == "exclusive":
        cached = _first(raw, "cache_read_input_tokens") if cached is None else cached
        written = _first(raw, "cache_creation_input_tokens") if written is None else written
        if input_tokens is not None:
            input_tokens += (cached or 0) + (written or 0)
    output_tokens = _first(raw, "output_tokens", "completion_tokens")
    reasoning = _first(of_output, "reasoning_tokens")
    counts = (input_tokens, cached, written, output_tokens, reasoning)
    suspect = exceeds(input_tokens, cached, written) or exceeds(output_tokens, reasoning) or is_negative(*counts)
    return TokenUsage(*counts, suspect)


def _mapping(raw: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}


def _first(raw: Mapping[str, object], *names: str) -> int | None:
    """The first of these fields that is a whole number, also one that can't be right; anything else is unknown."""
    for name in names:
        value = raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
