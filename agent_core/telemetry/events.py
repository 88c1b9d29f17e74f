"""Telemetry events: what the journal, the export and the hub carry, one JSON object each.

Names and fields are fixed. Durations end in `_ms`, sizes in `_bytes`. A field that is not known is `None` here and
absent in JSON, never 0. `cached_tokens` and `cache_write_tokens` are subsets of `input_tokens`, `reasoning_tokens` of
`output_tokens`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA_VERSION = 1

Reuse = Literal["first", "reused", "full_resend", "not_found", "evicted", "rotated", "reconnected"]
Stage = Literal["api_overhead", "inference", "client_tool", "approval", "client_other"]
Status = Literal["completed", "failed", "cancelled", "interrupted"]
TransportKind = Literal["websocket", "http"]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Fields common to all events. `v`, `source`, `seq`, `time` and `mono_ns` are stamped by
    `emitter.Emitter`. None, here and in every event: not known, or it does not apply."""

    v: int = 0
    source: str = ""
    seq: int = 0
    time: str = ""
    mono_ns: int = 0
    session: str | None = None
    turn: str | None = None
    call: str | None = None
    connection: str | None = None
    lane: str | None = None


class SessionStarted(Event, frozen=True, kw_only=True, tag="session.started"):
    client: str
    roots: int | None = None
    project: str | None = None
    websocket_share: float | None = None


class TurnStarted(Event, frozen=True, kw_only=True, tag="turn.started"):
    pass


class TurnFinished(Event, frozen=True, kw_only=True, tag="turn.finished"):
    """`stages_ms` is empty where the end was only reported: readers work the stages out of calls and tools."""

    status: Status
    duration_ms: float
    stages_ms: dict[str, float]
    calls: int
    tools: int
    mode: Literal["act", "plan"] = "act"
    clamped: int = 0
    """Negative durations that the source set to 0 while it measured."""


class CallSent(Event, frozen=True, kw_only=True, tag="call.sent"):
    model: str
    transport: TransportKind
    attempt: int
    reuse: Reuse
    input_items: int
    bytes_up: int
    warmup: bool = False
    bytes_full: int | None = None
    """What the same create would have weighed with its whole input; None if the source does not count it."""


class CallFirstEvent(Event, frozen=True, kw_only=True, tag="call.first_event"):
    latency_ms: float


class CallFirstDelta(Event, frozen=True, kw_only=True, tag="call.first_delta"):
    latency_ms: float
    channel: Literal["text", "reasoning", "tool_arguments"]
    ttft_ms: float
    visible_ttft_ms: float | None = None


class CallProgress(Event, frozen=True, kw_only=True, tag="call.progress"):
    """A sample of a running call, at most four a second; both figures are estimates."""

    output_tokens_est: int
    rate_est: float


class CallCompleted(Event, frozen=True, kw_only=True, tag="call.completed"):
    """The end of a call. Token counts are inclusive: cached and written ones are among the input, reasoning among the
    output. None: the service did not say."""

    status: Status
    duration_ms: float
    response_id: str | None = None
    ttft_ms: float | None = None
    visible_ttft_ms: float | None = None
    inference_ms: float | None = None
    """First to last delta, or the engine time that the service reported; an addition to the fixed fields."""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    effort: str | None = None
    """What was asked for; None: nothing."""
    deltas: int | None = None
    bytes_down: int | None = None
    """Of everything the service sent for it."""
    finish_reason: str | None = None
    error_code: str | None = None
    cost_usd: float | None = None
    service_stages_ms: dict[str, float] | None = None
    chunk_gaps: dict[int, int] | None = None
    """Gaps between deltas as buckets of `sketch.Sketch(GAP_ERROR)`, in ms; None without two deltas."""
    clamped: int = 0
    """Negative durations that the source set to 0 while it measured."""
    oddities: list[str] | None = None
    """Names of what was strange in the stream and did no harm (`protocol.response_stream`), each once."""


class CallReported(Event, frozen=True, kw_only=True, tag="call.reported"):
    """A call that was not measured by us, whole, as another agent or a service told of it. Its stamps are of its end.

    Nothing is added to what was said: what is missing there is None here. None: not told.
    """

    reporter: str
    """Who told: the emitter's mapping, e.g. `codex`, or `import:codex` for a log read from the disk."""
    status: Status
    model: str | None = None
    transport: TransportKind | None = None
    reuse: Reuse | None = None
    warmup: bool = False
    duration_ms: float | None = None
    response_id: str | None = None
    ttft_ms: float | None = None
    visible_ttft_ms: float | None = None
    inference_ms: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    deltas: int | None = None
    bytes_down: int | None = None
    """Of everything the service sent for it."""
    finish_reason: str | None = None
    error_code: str | None = None
    cost_usd: float | None = None


class ToolStarted(Event, frozen=True, kw_only=True, tag="tool.started"):
    tool_call: str
    name: str


class ToolFinished(Event, frozen=True, kw_only=True, tag="tool.finished"):
    tool_call: str
    name: str
    status: Literal["ok", "error", "denied", "timeout", "cancelled"]
    duration_ms: float
    output_bytes: int | None = None


class ApprovalOpened(Event, frozen=True, kw_only=True, tag="approval.opened"):
    approval: str
    kind: str


class ApprovalResolved(Event, frozen=True, kw_only=True, tag="approval.resolved"):
    approval: str
    kind: str
    decision: Literal["allow", "always", "deny", "withdrawn"]
    waited_ms: float
    rule: str | None = None
    by: str | None = None


class ConnectionOpened(Event, frozen=True, kw_only=True, tag="connection.opened"):
    handshake_ms: float
    cause: str | None = None


class ConnectionPrewarmed(Event, frozen=True, kw_only=True, tag="connection.prewarmed"):
    cause: str | None = None


class ConnectionRotated(Event, frozen=True, kw_only=True, tag="connection.rotated"):
    age_s: float
    cause: str | None = None


class ConnectionReconnected(Event, frozen=True, kw_only=True, tag="connection.reconnected"):
    handshake_ms: float | None = None
    cause: str | None = None


class ConnectionFallback(Event, frozen=True, kw_only=True, tag="connection.fallback"):
    cause: str | None = None


class ConnectionClosed(Event, frozen=True, kw_only=True, tag="connection.closed"):
    age_s: float
    cause: str | None = None


class ServiceCall(Event, frozen=True, kw_only=True, tag="service.call"):
    """One call as the service saw it. `reused_tokens`: our own cache. `tools_ignored`: tools it can't use.

    `screened`: code of the screen that flagged or blocked the input, None for none. None elsewhere: not known.
    """

    response_id: str
    stages_ms: dict[str, float]
    new_tokens: int
    reused_tokens: int
    tools_ignored: int = 0
    screened: str | None = None
    key: str | None = None
    """Name of the API key, as the ledger has it, like all that follows."""
    model: str | None = None
    status: str | None = None
    error_code: str | None = None
    transport: TransportKind | None = None
    duration_ms: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class SourceAlive(Event, frozen=True, kw_only=True, tag="source.alive"):
    """The process lives and something of it runs; at most every 15 s, see `alive.Pulse`."""


class Content(Event, frozen=True, kw_only=True, tag="content"):
    """Text of a session: prompts, answers, tool arguments and outputs. Kept only if the user turns it on, in files of
    its own; never exported or shipped unless that is turned on as well."""

    kind: Literal["user", "instructions", "answer", "reasoning", "tool_arguments", "tool_output"]
    text: str
    tool_call: str | None = None


AnyEvent = (
    SessionStarted
    | TurnStarted
    | TurnFinished
    | CallSent
    | CallFirstEvent
    | CallFirstDelta
    | CallProgress
    | CallCompleted
    | CallReported
    | ToolStarted
    | ToolFinished
    | ApprovalOpened
    | ApprovalResolved
    | ConnectionOpened
    | ConnectionPrewarmed
    | ConnectionRotated
    | ConnectionReconnected
    | ConnectionFallback
    | ConnectionClosed
    | ServiceCall
    | SourceAlive
    | Content
)
