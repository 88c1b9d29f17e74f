"""Times one attempt of a call at its source. Pure: stamps are handed in, monotonic nanoseconds of one process.

Definitions: TTFT is from the written `response.create` to the first delta of any channel, reasoning included (not to
the first frame, and never for an answer that does not stream); visible TTFT to the first delta of text or tool
arguments. Inference is the engine's own time where the service tells it, else first to last delta. Negative spans
count as 0 and are counted.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.telemetry.sketch import GAP_ERROR, Sketch

Channel = Literal["text", "reasoning", "tool_arguments"]
PROGRESS_NS = 250_000_000
"""Pause between samples: at most four a second."""
CHARS_PER_TOKEN = 4.0


class TokenEstimate:
    """Tokens of streamed characters: four characters each, then as the last finished call turned out. One per
    session."""

    def __init__(self) -> None:
        self._chars_per_token = CHARS_PER_TOKEN

    def tokens(self, chars: int) -> int:
        return round(chars / self._chars_per_token)

    def learn(
        self, chars: int, output_tokens: int | None, reasoning_tokens: int | None, *, reasoning_seen: bool
    ) -> None:
        """A call ended with the provider's count: calibrate. Reasoning that was not streamed is no part of `chars`."""
        if output_tokens is None:
            return
        streamed = output_tokens - (0 if reasoning_seen else reasoning_tokens or 0)
        if chars > 0 and streamed > 0:
            self._chars_per_token = min(16.0, max(0.5, chars / streamed))


class FirstDelta(msgspec.Struct, frozen=True):
    """What `call.first_delta` tells."""

    channel: Channel
    latency_ms: float
    ttft_ms: float
    visible_ttft_ms: float | None


class Progress(msgspec.Struct, frozen=True):
    """What `call.progress` tells; estimates."""

    output_tokens_est: int
    rate_est: float


class Timing(msgspec.Struct, frozen=True):
    """What `call.completed` tells about time. None: no delta came."""

    duration_ms: float
    ttft_ms: float | None
    visible_ttft_ms: float | None
    inference_ms: float | None
    deltas: int
    chunk_gaps: dict[int, int] | None
    clamped: int


class CallTimer:
    """Make one when `response.create` is written, tell it every delta, ask it at the terminal event."""

    __slots__ = (
        "_chars", "_clamped", "_deltas", "_estimate", "_first_ns", "_gaps",
        "_last_ns", "_reasoning", "_sampled_ns", "_sent_ns", "_visible_ns",
    )  # fmt: skip

    def __init__(self, sent_ns: int, estimate: TokenEstimate | None = None) -> None:
        self._sent_ns = sent_ns
        self._estimate = estimate or TokenEstimate()
        self._first_ns: int | None = None
        self._visible_ns: int | None = None
        self._last_ns = self._sampled_ns = sent_ns
        self._gaps = Sketch(GAP_ERROR)
        self._deltas = self._chars = self._clamped = 0
        self._reasoning = False

    def latency_ms(self, ns: int) -> float:
        """From sending to the event at `ns`: for the first event of any type."""
        return self._span_ms(self._sent_ns, ns)

    def delta(self, channel: Channel, chars: int, ns: int) -> FirstDelta | None:
        """Count a delta of `chars` characters; what to tell if it is the first one, or the first visible one, else
        None."""
        first, seen = self._first_ns is None, self._visible_ns is not None
        if self._first_ns is None:
            self._first_ns = ns
        else:
            self._gaps.add(self._span_ms(self._last_ns, ns))
        if channel == "reasoning":
            self._reasoning = True
        elif not seen:
            self._visible_ns = ns
        self._last_ns = max(ns, self._last_ns)
        self._deltas += 1
        self._chars += chars
        if not first and (seen or self._visible_ns is None):
            return None
        visible_ms = None if self._visible_ns is None else self._span_ms(self._sent_ns, self._visible_ns)
        return FirstDelta(
            channel, self._span_ms(self._sent_ns, ns), self._span_ms(self._sent_ns, self._first_ns), visible_ms
        )

    def progress(self, ns: int) -> Progress | None:
        """A sample for `call.progress`, or None if the last one is not a quarter of a second old or nothing streamed
        yet."""
        if self._first_ns is None or ns - self._sampled_ns < PROGRESS_NS:
            return None
        self._sampled_ns = ns
        tokens = self._estimate.tokens(self._chars)
        window_s = (ns - self._first_ns) / 1e9
        return Progress(tokens, tokens / window_s) if window_s > 0 else None

    def finish(self, ns: int, engine_ms: float | None = None) -> Timing:
        """The terminal event came at `ns`; `engine_ms` is the time that the service says its engine took, None if it
        does not."""
        streamed = self._first_ns is not None
        spread_ms = None if self._first_ns is None else self._span_ms(self._first_ns, self._last_ns)
        return Timing(
            duration_ms=self._span_ms(self._sent_ns, ns),
            ttft_ms=None if self._first_ns is None else self._span_ms(self._sent_ns, self._first_ns),
            visible_ttft_ms=None if self._visible_ns is None else self._span_ms(self._sent_ns, self._visible_ns),
            inference_ms=spread_ms if engine_ms is None else max(0.0, engine_ms),
            deltas=self._deltas,
            chunk_gaps=self._gaps.to_buckets() if streamed and self._gaps.count else None,
            clamped=self._clamped + (engine_ms is not None and engine_ms < 0),
        )

    def learn(self, output_tokens: int | None, reasoning_tokens: int | None) -> None:
        """The provider's count of this call came: calibrate the estimate of the next ones."""
        self._estimate.learn(self._chars, output_tokens, reasoning_tokens, reasoning_seen=self._reasoning)

    def _span_ms(self, start_ns: int, end_ns: int) -> float:
        if end_ns < start_ns:
            self._clamped += 1
            return 0.0
        return (end_ns - start_ns) / 1_000_000
