"""Times and counts one call, and tells them as telemetry.

Owns the stamps. All are taken from the session's clock once per batch of frames, so a delta costs an addition. TTFT
is from the last send to the first delta of any channel; `inference_ms` is the engine's time where the service tells
it (`responsesapi.websocket_timing`, as openai/codex reads it), else first to last delta.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

from agent_core.clock import Clock
from agent_core.errors import LooplineError
from agent_core.model.port import CallTiming
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.rollup.sketch import GAP_ERROR, Sketch
from agent_core.telemetry.rollup.usage import TokenUsage

Channel = Literal["text", "reasoning", "tool_arguments"]

PROGRESS_EVERY_NS: Final = 250_000_000
RATE_WINDOW_NS: Final = 5_000_000_000
CHARS_PER_TOKEN: Final = 4.0
"""First guess, replaced by what finished calls of the session showed."""

ENGINE_TOTAL: Final = "engine_service_total_ms"


class Pace:
    """Characters per token of a session, learnt from finished calls."""

    def __init__(self) -> None:
        self.chars_per_token = CHARS_PER_TOKEN

    def learn(self, chars: int, usage: TokenUsage | None) -> None:
        """Hidden reasoning has tokens and no characters, so it teaches nothing."""
        if usage is not None and usage.output_tokens and not usage.reasoning_tokens and chars >= 40:
            self.chars_per_token = min(max(chars / usage.output_tokens, 1.0), 10.0)


class CallTimer:
    """One call from its first send to its end. Several attempts are one call; stamps are those of the last."""

    _sent_ns: int
    _now_ns: int
    _first_ns: int | None
    _visible_ns: int | None
    _last_ns: int
    _progress_ns: int
    _deltas: int
    _in_batch: int
    _chars: int
    _gaps: Sketch
    _samples: deque[tuple[int, int]]

    def __init__(
        self,
        clock: Clock,
        emitter: Emitter,
        pace: Pace,
        ids: Mapping[str, str | None],
        effort: str | None = None,
    ) -> None:
        self._effort = effort
        self._clock, self._emitter, self._pace = clock, emitter, pace
        self._ids: dict[str, Any] = dict(ids)
        self._began_ns = clock.mono_ns()
        self.attempts = 0
        self.bytes_up = 0
        self._bytes_down = 0
        self._metrics: Mapping[str, Any] = {}
        self._restart(self._began_ns)

    def sent(
        self, sent_ns: int, *, model: str, transport: ev.TransportKind, reuse: ev.Reuse, input_items: int, size: int,
        size_full: int, warmup: bool, connection: str | None, lane: str | None
    ) -> None:  # fmt: skip
        """A create left at `sent_ns` with `size` bytes; with its whole input it would have had `size_full`."""
        self.attempts += 1
        self.bytes_up += size
        self._restart(sent_ns)
        self._ids["connection"], self._ids["lane"] = connection, lane
        self._emitter.emit(
            ev.CallSent(
                model=model,
                transport=transport,
                attempt=self.attempts,
                reuse=reuse,
                input_items=input_items,
                bytes_up=size,
                bytes_full=size_full,
                warmup=warmup,
                **self._ids,
            )
        )

    def batch(self, frames: list[bytes]) -> None:
        """Frames came in; what is counted until `settle` came at this moment."""
        self._now_ns = self._clock.mono_ns()
        for frame in frames:
            self._bytes_down += len(frame)

    def event(self) -> None:
        """The response's first event of this attempt is in the batch."""
        self._emitter.emit(ev.CallFirstEvent(latency_ms=self._since_sent_ms(), **self._ids))

    def delta(self, channel: Channel, chars: int) -> None:
        """A delta of `chars` characters is in the batch."""
        self._in_batch += 1
        self._chars += chars
        if self._visible_ns is None and (self._first_ns is None or channel != "reasoning"):
            self._first(channel)

    def settle(self) -> None:
        """The batch is done."""
        fresh = self._in_batch
        if not fresh:
            return
        if self._deltas:
            self._gaps.add(max(0, self._now_ns - self._last_ns) / 1e6)
        if fresh > 1:
            self._gaps.add(0.0, fresh - 1)
        self._deltas += fresh
        self._in_batch = 0
        self._last_ns = self._now_ns
        if self._now_ns - self._progress_ns >= PROGRESS_EVERY_NS:
            self._progress()

    def metrics(self, metrics: Mapping[str, Any]) -> None:
        """The service's own timing of this call; the last one counts."""
        self._metrics = metrics

    def timing(self) -> CallTiming:
        """The call's times as they stand now, also amid a batch."""
        self.settle()
        return CallTiming(
            duration_ms=_ms(self._clock.mono_ns() - self._began_ns),
            ttft_ms=None if self._first_ns is None else _ms(self._first_ns - self._sent_ns),
            visible_ttft_ms=None if self._visible_ns is None else _ms(self._visible_ns - self._sent_ns),
            inference_ms=self._inference_ms(),
        )

    def ended(
        self,
        status: ev.Status,
        timing: CallTiming,
        *,
        response_id: str | None = None,
        usage: TokenUsage | None = None,
        finish_reason: str | None = None,
        error: LooplineError | None = None,
        oddities: Collection[str] = (),
    ) -> None:
        """The call is over, whichever way."""
        self._pace.learn(self._chars, usage)
        usage = usage or TokenUsage()
        stages = {k: float(v) for k, v in self._metrics.items() if k.endswith("_ms") and isinstance(v, int | float)}
        self._emitter.emit(
            ev.CallCompleted(
                status=status,
                response_id=response_id,
                duration_ms=timing.duration_ms,
                ttft_ms=timing.ttft_ms,
                visible_ttft_ms=timing.visible_ttft_ms,
                inference_ms=timing.inference_ms,
                input_tokens=usage.input_tokens,
                cached_tokens=usage.cached_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                output_tokens=usage.output_tokens,
                reasoning_tokens=usage.reasoning_tokens,
                effort=self._effort,
                deltas=self._deltas,
                bytes_down=self._bytes_down,
                finish_reason=finish_reason,
                error_code=None if error is None else error.code,
                service_stages_ms=stages or None,
                chunk_gaps=self._gaps.to_buckets() or None,
                oddities=sorted(oddities) or None,
                **self._ids,
            )
        )

    def _restart(self, sent_ns: int) -> None:
        self._sent_ns = self._now_ns = self._last_ns = self._progress_ns = sent_ns
        self._first_ns = self._visible_ns = None
        self._deltas = self._in_batch = self._chars = 0
        self._gaps = Sketch(GAP_ERROR)
        self._samples = deque()

    def _first(self, channel: Channel) -> None:
        visible = channel != "reasoning"
        if self._first_ns is None:
            self._first_ns = self._progress_ns = self._now_ns
            self._samples.append((self._now_ns, 0))
        if visible:
            self._visible_ns = self._now_ns
        self._emitter.emit(
            ev.CallFirstDelta(
                latency_ms=self._since_sent_ms(),
                channel=channel,
                ttft_ms=_ms(self._first_ns - self._sent_ns),
                visible_ttft_ms=self._since_sent_ms() if visible else None,
                **self._ids,
            )
        )

    def _progress(self) -> None:
        """Tokens so far and their rate over the last seconds, both estimated from characters."""
        tokens = round(self._chars / self._pace.chars_per_token)
        while len(self._samples) > 1 and self._now_ns - self._samples[0][0] > RATE_WINDOW_NS:
            self._samples.popleft()
        then_ns, before = self._samples[0]
        span_s = (self._now_ns - then_ns) / 1e9
        self._samples.append((self._now_ns, tokens))
        self._progress_ns = self._now_ns
        rate = (tokens - before) / span_s if span_s > 0 else 0.0
        self._emitter.emit(ev.CallProgress(output_tokens_est=tokens, rate_est=round(rate, 1), **self._ids))

    def _inference_ms(self) -> float | None:
        engine = self._metrics.get(ENGINE_TOTAL)
        if isinstance(engine, int | float) and engine >= 0:
            return float(engine)
        return None if self._first_ns is None else _ms(self._last_ns - self._first_ns)

    def _since_sent_ms(self) -> float:
        return _ms(self._now_ns - self._sent_ns)


def _ms(nanoseconds: int) -> float:
    return round(nanoseconds / 1e6, 3)
