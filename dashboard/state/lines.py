"""One line of the list of turns. Pure."""

from __future__ import annotations

import msgspec

from agent_core.telemetry.events import Stage
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import CallRow, TurnRow, TurnStatus


class TurnLine(msgspec.Struct, frozen=True, kw_only=True):
    """A turn in short. None = unknown."""

    turn: str
    session: str | None
    source: str
    number: int
    """1, 2, … within its session; 0 if the session is not known."""
    client: str | None
    project: str | None
    models: tuple[str, ...]
    tools: tuple[str, ...]
    """Names of the tools that ran, each once, in order."""
    status: TurnStatus | None
    """None while it runs."""
    stage: Stage | None
    """Where a running turn is now."""
    started_ns: int
    duration_ms: float
    ttft_ms: float | None
    calls: int
    reused: int
    """Calls that continued their chain."""
    full: int
    """Calls that sent their whole input though they were not the session's first."""
    rate: float | None
    """Tokens per second: the live estimate while it streams, else `turn_rate`."""
    rate_estimated: bool
    cache_ratio: float | None
    """Cached of the input tokens, 0 to 1."""
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    bytes_up: int
    """Of the create frames of its calls."""
    error_code: str | None
    """Of the last call that failed."""
    approvals: int
    """Open approvals."""
    silent_s: float | None = None
    """Of a running turn whose source is not heard of: for how long; None below `silence.SILENT_S`."""
    suspect: tuple[str, ...] = ()
    """Names of figures that cannot be right in one of its calls, each once."""

    @property
    def title(self) -> str:
        """What to call a turn whose task is not known here: project or client, and its number."""
        name = self.project or self.client or "turn"
        return f"{name} #{self.number}" if self.number else name


def line_of(rollup: Rollup, row: TurnRow, live_rate: float | None, silent_s: float | None = None) -> TurnLine:
    """The line of a turn; `live_rate` is what its session streams now, None if nothing. `silent_s` as in the line."""
    calls = [call for call in (rollup.calls.get(name) for name in row.calls) if call is not None and not call.warmup]
    session = rollup.sessions.get(row.session or "")
    known_input = [call for call in calls if call.cache_ratio is not None]
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    streams = row.status is None and live_rate is not None
    told = [*(call.suspect for call in calls), *(tool.suspect for tool in row.tools)]
    told += [*(approval.suspect for approval in row.approvals), row.suspect]
    return TurnLine(
        turn=row.turn,
        session=row.session,
        source=row.source,
        number=row.number if session is not None else 0,
        client=session.client if session is not None else None,
        project=session.project if session is not None else None,
        models=tuple(dict.fromkeys(call.model for call in calls if call.model is not None)),
        tools=tuple(dict.fromkeys(tool.name for tool in row.tools)),
        status=row.status,
        stage=row.stage,
        started_ns=row.started_ns,
        duration_ms=row.duration_ms,
        ttft_ms=row.ttft_ms,
        calls=len(calls),
        reused=sum(call.reuse == "reused" for call in calls),
        full=sum(call.reuse not in (None, "reused", "first") for call in calls),
        rate=live_rate if streams else turn_rate(calls),
        rate_estimated=streams,
        cache_ratio=ratio(sum(call.cached_tokens or 0 for call in known_input), total(known_input, "input_tokens")),
        input_tokens=total(calls, "input_tokens"),
        cached_tokens=total(calls, "cached_tokens"),
        output_tokens=total(calls, "output_tokens"),
        cost_usd=sum(costs) if costs else None,
        bytes_up=sum(call.bytes_up for call in calls),
        error_code=next((call.error_code for call in reversed(calls) if call.error_code is not None), None),
        silent_s=silent_s,
        suspect=tuple(dict.fromkeys(name for names in told for name in names)),
        approvals=0 if row.status is not None else sum(approval.resolved_ns is None for approval in row.approvals),
    )


def turn_rate(calls: list[CallRow]) -> float | None:
    """Tokens per second of several calls: their output tokens over the time their own rates stand for."""
    tokens, seconds = 0, 0.0
    for call in calls:
        if call.rate and call.output_tokens:
            tokens += call.output_tokens
            seconds += call.output_tokens / call.rate
    return tokens / seconds if seconds else None


def total(calls: list[CallRow], field: str) -> int | None:
    """Sum of a token field over the calls that report it; None if none does."""
    known = [value for value in (getattr(call, field) for call in calls) if value is not None]
    return sum(known) if known else None


def ratio(part: int, whole: int | None) -> float | None:
    return part / whole if whole else None
