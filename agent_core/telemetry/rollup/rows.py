"""What the roll-up knows of one call, tool, approval, connection, turn and session. Data only.

`*_ns` of rows are positions on the source's wall axis: nanoseconds since the Unix epoch, made of one wall anchor and
monotonic differences, so that a stepped clock moves no bar and changes no duration. None means unknown or still
running, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.telemetry.events import Reuse, Stage, Status, TransportKind
from agent_core.telemetry.rollup.sketch import GAP_ERROR, Sketch
from agent_core.telemetry.rollup.suspect import TOKENS

TurnStatus = Literal[Status, "untold"]
"""`untold`: reported by an agent that did not tell the turn's end."""
Origin = Literal["measured", "reported"]
"""Who a figure is of: us, or the agent that told of it."""
_INPUT = frozenset(("input_tokens", "cached_tokens", "cache_write_tokens"))
_RATED = frozenset(("output_tokens", "reasoning_tokens", "ttft_ms"))


class CallRow(msgspec.Struct, kw_only=True):
    """One call, over all its attempts. None: not known (yet), or the service did not say.

    Positions (`*_ns`) are nanoseconds on the source's own clock, as in its events.
    """

    call: str
    source: str
    number: int
    """1, 2, … in the order of first sending within the session, warm-ups left out; 0 for a warm-up."""
    session: str | None = None
    turn: str | None = None
    connection: str | None = None
    lane: str | None = None
    model: str | None = None
    transport: TransportKind | None = None
    warmup: bool = False
    origin: Origin = "measured"
    reuse: Reuse | None = None
    """Of the last attempt: what became of the chain."""
    attempts: int = 0
    input_items: int | None = None
    """Of the last attempt's frame."""
    bytes_up: int = 0
    """Of the create frames of all attempts."""
    bytes_full: int | None = None
    """What they would have weighed with the whole input each; None if one of them does not say."""
    sent_ns: int = 0
    attempt_ns: int = 0
    """When the latest attempt was sent; equals `sent_ns` without a repetition."""
    first_delta_ns: int | None = None
    ended_ns: int | None = None
    status: Status | None = None
    latency_ms: float | None = None
    ttft_ms: float | None = None
    visible_ttft_ms: float | None = None
    channel: str | None = None
    duration_ms: float | None = None
    inference_ms: float | None = None
    tools_ns: int = 0
    """Union of the tools that ran for this call: those started after it and before the turn's next call."""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    output_tokens_est: int | None = None
    """Running estimate; superseded by `output_tokens`."""
    deltas: int | None = None
    bytes_down: int | None = None
    """Of everything the service sent for it."""
    response_id: str | None = None
    finish_reason: str | None = None
    error_code: str | None = None
    cost_usd: float | None = None
    suspect: list[str] = []
    """Names of its figures that cannot be right; see `suspect.suspect_figures`."""
    chunk_gaps: dict[int, int] | None = None
    service_stages_ms: dict[str, float] | None = None
    new_tokens: int | None = None
    reused_tokens: int | None = None
    """The service's own cache, from `service.call`; `cached_tokens` is the engine's."""

    @property
    def running(self) -> bool:
        return self.status is None

    @property
    def sent_bytes(self) -> int | None:
        """Of its create frames; None of a call that was only reported."""
        return None if self.origin == "reported" else self.bytes_up

    @property
    def overhead_ms(self) -> float | None:
        """Call wall time that is not inference; None while the inference time is unknown, or if it can't be right."""
        if self.duration_ms is None or self.inference_ms is None:
            return None
        if self.times_suspect:
            return None
        return self.duration_ms - min(self.duration_ms, self.inference_ms)

    @property
    def times_suspect(self) -> bool:
        """Its duration or its inference time cannot be right."""
        return "duration_ms" in self.suspect or "inference_ms" in self.suspect

    @property
    def tools_ms(self) -> float:
        return self.tools_ns / 1_000_000

    @property
    def usage_suspect(self) -> bool:
        """One of its token counts cannot be right, e.g. cached tokens counted beside the input, not within."""
        return not TOKENS.isdisjoint(self.suspect)

    @property
    def cache_ratio(self) -> float | None:
        """cached / input; None without input tokens, without a report of cached ones, or with a suspect one."""
        if not self.input_tokens or self.cached_tokens is None or not _INPUT.isdisjoint(self.suspect):
            return None
        return self.cached_tokens / self.input_tokens

    @property
    def latency_to_end_ms(self) -> float | None:
        """From the latest attempt's sending to its end; None while it runs. `duration_ms` may hold more:
        connecting, and attempts that failed."""
        return None if self.ended_ns is None else (self.ended_ns - self.attempt_ns) / 1_000_000

    @property
    def tpot_ms(self) -> float | None:
        """Time per output token after the first: (latency - ttft) / (output_tokens - 1), of the latest attempt.

        None where that would mislead: less than two tokens, hidden reasoning, or a decode window that is both under 1 s
        and shorter than the TTFT (chenyme/grok2api#949).
        """
        latency_ms = self.latency_to_end_ms
        if latency_ms is None or self.ttft_ms is None or (self.output_tokens or 0) < 2:
            return None
        if not _RATED.isdisjoint(self.suspect):
            return None
        window_ms = latency_ms - self.ttft_ms
        hidden_reasoning = bool(self.reasoning_tokens) and self.channel != "reasoning"
        if window_ms <= 0 or hidden_reasoning or (window_ms < 1000 and window_ms < self.ttft_ms):
            return None
        return window_ms / ((self.output_tokens or 0) - 1)

    @property
    def decode_rate(self) -> float | None:
        """Tokens per second after the first token: 1000 / `tpot_ms`."""
        return None if self.tpot_ms is None else 1000 / self.tpot_ms

    @property
    def e2e_rate(self) -> float | None:
        """Output tokens over the whole latest attempt, in tokens per second."""
        latency_ms = self.latency_to_end_ms
        if self.output_tokens is None or not latency_ms or "output_tokens" in self.suspect:
            return None
        return self.output_tokens / latency_ms * 1000

    @property
    def rate(self) -> float | None:
        """The one figure for a table: `decode_rate` where it holds, else `e2e_rate`."""
        return self.e2e_rate if self.decode_rate is None else self.decode_rate

    @property
    def bytes_saved(self) -> int | None:
        """Bytes that the chain spared: a full resend's minus what went up. None if the source does not count it."""
        return None if self.bytes_full is None else max(0, self.bytes_full - self.bytes_up)

    @property
    def chunk_gap_ms(self) -> tuple[float, float, float] | None:
        """p50, p95 and maximum of the gaps between deltas, within `GAP_ERROR`; None without two deltas."""
        sketch = Sketch(GAP_ERROR, self.chunk_gaps)
        found = [sketch.quantile(q) for q in (0.5, 0.95, 1.0)]
        p50, p95, most = found
        return None if p50 is None or p95 is None or most is None else (p50, p95, most)


class ToolRow(msgspec.Struct, kw_only=True):
    """One run of a tool. None: it runs still, or was not told."""

    tool_call: str
    name: str
    call: str | None
    """The call that asked for it."""
    started_ns: int
    ended_ns: int | None = None
    status: str | None = None
    duration_ms: float | None = None
    output_bytes: int | None = None
    suspect: list[str] = []
    """Names of its figures that cannot be right."""


class ApprovalRow(msgspec.Struct, kw_only=True):
    approval: str
    kind: str
    opened_ns: int
    resolved_ns: int | None = None
    decision: str | None = None
    waited_ms: float | None = None
    by: str | None = None
    suspect: list[str] = []


class ConnectionRow(msgspec.Struct, kw_only=True):
    connection: str
    source: str
    session: str | None = None
    opened_ns: int | None = None
    closed_ns: int | None = None
    handshake_ms: float | None = None
    history: list[tuple[int, str, str | None]] = []
    """(position, what happened, cause), in order."""


class TurnRow(msgspec.Struct, kw_only=True):
    """One turn. `stages_ns` add up to `duration_ns` exactly."""

    turn: str
    source: str
    session: str | None
    """None: its start was missed."""
    started_ns: int
    number: int = 0
    """1, 2, … within its session as long as that is known; 0 without one."""
    ended_ns: int | None = None
    """None while it runs."""
    status: TurnStatus | None = None
    """None while it runs."""
    duration_ns: int = 0
    """To the end; of a running turn to its latest event."""
    stages_ns: dict[Stage, int] = {}
    stage: Stage | None = "client_other"
    """Where a running turn is now; None once it ended."""
    ttft_ms: float | None = None
    """First delta of any channel of any call, from the turn's start."""
    visible_ttft_ms: float | None = None
    """First delta that a person sees, from the turn's start; None before it."""
    calls: list[str] = []
    tools: list[ToolRow] = []
    approvals: list[ApprovalRow] = []
    reported: bool = False
    """Told of by another agent: its stages are worked out of its calls and tools, see `reckoning`."""
    suspect: list[str] = []
    """Names of the figures of its end, as they were reported, that cannot be right; what stands here is measured."""
    good: bool = False
    """Of an ended one that was reported: what it was counted as."""

    @property
    def duration_ms(self) -> float:
        return self.duration_ns / 1_000_000

    @property
    def stages_ms(self) -> dict[str, float]:
        return {stage: ns / 1_000_000 for stage, ns in self.stages_ns.items()}

    @property
    def running(self) -> bool:
        return self.status is None


class SessionRow(msgspec.Struct, kw_only=True):
    """One session of a source. None: its start was missed, or did not say."""

    session: str
    source: str
    client: str | None = None
    project: str | None = None
    roots: int | None = None
    """How many folders."""
    websocket_share: float | None = None
    """0 to 1, see the setting of that name."""
    started_ns: int | None = None
    last_ns: int | None = None
    turns: list[str] = []
