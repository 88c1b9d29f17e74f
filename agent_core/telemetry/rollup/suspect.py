"""Which figures of an event cannot be right, whoever reported them. Pure.

Such a figure is kept and shown as it was reported, marked by its name; what is computed of it (a share, a rate, a
percentile, a cost) is left unknown.
"""

from __future__ import annotations

import math
from typing import Protocol

from agent_core.telemetry.events import CallCompleted, CallReported, Event

MAX_COUNT = 1 << 40
"""Tokens, deltas or bytes of one call: a million times what the largest context holds."""
MAX_MS = 1e10
"""Of one call, about 116 days."""
SLACK_MS = 1.0
"""What two readings of one clock may differ by."""
_TOKENS = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
TOKENS = frozenset(_TOKENS)
_COUNTS = (*_TOKENS, "deltas", "bytes_down")
_TIMES = ("duration_ms", "ttft_ms", "visible_ttft_ms", "inference_ms")
REPORTED = (*_TIMES, *_COUNTS, "cost_usd")
"""The figures that are judged, in the order in which they are named."""


_STAMPS = Event.__struct_fields__.index("mono_ns") + 1
"""Before it stand the fields that every event has."""


class Reported(Protocol):
    """A call's figures at its end, as `events.CallCompleted` and `events.CallReported` have them; None is unknown."""

    @property
    def duration_ms(self) -> float | None: ...
    @property
    def ttft_ms(self) -> float | None: ...
    @property
    def visible_ttft_ms(self) -> float | None: ...
    @property
    def inference_ms(self) -> float | None: ...
    @property
    def input_tokens(self) -> int | None: ...
    @property
    def cached_tokens(self) -> int | None: ...
    @property
    def cache_write_tokens(self) -> int | None: ...
    @property
    def output_tokens(self) -> int | None: ...
    @property
    def reasoning_tokens(self) -> int | None: ...
    @property
    def deltas(self) -> int | None: ...
    @property
    def bytes_down(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...


def suspect_figures(call: Reported) -> list[str]:
    """Names of the figures that cannot be right, in a fixed order; empty if there is none.

    Alone: negative, not finite, beyond all measure. Against each other: a part above its whole, and the order of
    what happened (first token <= first visible token <= end).
    """
    found = {name for name in _COUNTS if not 0 <= (getattr(call, name) or 0) <= MAX_COUNT}
    found |= {name for name in _TIMES if not 0 <= (getattr(call, name) or 0.0) <= MAX_MS}
    if call.cost_usd is not None and not (math.isfinite(call.cost_usd) and call.cost_usd >= 0):
        found.add("cost_usd")
    cached, written = call.cached_tokens or 0, call.cache_write_tokens or 0
    if call.input_tokens is not None and call.input_tokens >= 0 and cached + written > call.input_tokens:
        parts = {"cached_tokens": cached, "cache_write_tokens": written}
        over = {name for name, count in parts.items() if count > call.input_tokens}
        found |= over or {name for name, count in parts.items() if count}
    found |= {
        name
        for name, part, whole in (
            ("reasoning_tokens", call.reasoning_tokens, call.output_tokens),
            ("ttft_ms", call.ttft_ms, _plus(call.duration_ms)),
            ("visible_ttft_ms", call.visible_ttft_ms, _plus(call.duration_ms)),
            ("visible_ttft_ms", call.ttft_ms, _plus(call.visible_ttft_ms)),
            ("inference_ms", call.inference_ms, _plus(call.duration_ms)),
        )
        if part is not None and whole is not None and part > whole >= 0
    }
    return [name for name in REPORTED if name in found]


def suspect_of(event: Event) -> list[str]:
    """The same for any event: of a call's end as above, of others what is negative, not finite or beyond all measure
    alone."""
    if isinstance(event, CallCompleted | CallReported):
        found, judged = suspect_figures(event), frozenset(REPORTED)
    else:
        found, judged = [], frozenset()
    others = [name for name in event.__struct_fields__[_STAMPS:] if name not in judged]
    wrong = [name for name in others if not _is_possible(getattr(event, name))]
    return found + wrong


def _is_possible(value: object) -> bool:
    """Whether a figure, or each of several, may be right; what is no figure is none that could be wrong."""
    if isinstance(value, dict):
        return all(map(_is_possible, value.values()))
    if isinstance(value, float):
        return 0 <= value <= MAX_MS
    return not isinstance(value, int) or 0 <= value <= MAX_COUNT


def _plus(whole_ms: float | None) -> float | None:
    return None if whole_ms is None else whole_ms + SLACK_MS * (whole_ms >= 0)
