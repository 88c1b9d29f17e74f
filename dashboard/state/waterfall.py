"""A turn on a true time axis: one bar per call, tool and approval, with lanes for what overlaps. Pure.

The axis ends with the latest end of any bar, not of the turn; a gap is a gap. Within a call the split into overhead
and inference is by duration: overhead first, then inference, as the stages of the turn count it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.telemetry.events import Stage
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import ApprovalRow, CallRow, ToolRow, TurnStatus

BarKind = Literal["call", "tool", "approval"]


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that took time. Offsets are nanoseconds since the turn's start. `call`, `tool`, `approval`: what it
    is of, one of the three."""

    kind: BarKind
    id: str
    name: str
    start_ns: int
    end_ns: int
    """Of a running one: now."""
    running: bool
    parts: tuple[tuple[Stage, int, int], ...]
    """(stage, from, to), in order, without gaps; empty parts are left out."""
    ttft_ns: int | None = None
    """Offset of the first delta of any channel; None without one."""
    status: str | None = None
    """Status of a call or tool, decision of an approval; None while it runs, and where the turn ended without it."""
    lane: int = 0
    """Lowest row on which it overlaps with no other bar of the turn."""
    call: CallRow | None = None
    tool: ToolRow | None = None
    approval: ApprovalRow | None = None

    @property
    def duration_ms(self) -> float:
        return (self.end_ns - self.start_ns) / 1_000_000


class Waterfall(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's bars in order of their start. `span_ns` is the length of the axis, at least 1."""

    turn: str
    started_ns: int
    span_ns: int
    duration_ms: float
    status: TurnStatus | None
    """None while it runs."""
    stages_ms: dict[Stage, float]
    """Adds up to `duration_ms`."""
    bars: tuple[Bar, ...]
    lanes: int
    left_out: int
    """Bars beyond the limit, the earliest."""


def waterfall(rollup: Rollup, turn: str, now_ns: int, *, limit: int = 2000) -> Waterfall | None:
    """The waterfall of a turn as it stands at `now_ns`, with its latest `limit` bars; None if it is not known."""
    if turn not in rollup.turns:
        return None
    row = rollup.turn_now(turn, now_ns)
    start_ns = row.started_ns
    now_ns = max(now_ns, start_ns + row.duration_ns) if row.status is None else start_ns + row.duration_ns
    alive = row.status is None
    bars = [
        _call_bar(call, start_ns, now_ns, alive) for name in row.calls if (call := rollup.calls.get(name)) is not None
    ]
    bars += [_tool_bar(tool, start_ns, now_ns, alive) for tool in row.tools]
    bars += [_approval_bar(approval, start_ns, now_ns, alive) for approval in row.approvals]
    bars.sort(key=_position)
    left_out = max(0, len(bars) - limit)
    placed, lanes = _place(bars[left_out:])
    span_ns = max([row.duration_ns, *(bar.end_ns for bar in placed)])
    return Waterfall(
        turn=turn,
        started_ns=start_ns,
        span_ns=max(1, span_ns),
        duration_ms=row.duration_ms,
        status=row.status,
        stages_ms={stage: ns / 1_000_000 for stage, ns in row.stages_ns.items()},
        bars=tuple(placed),
        lanes=lanes,
        left_out=left_out,
    )


def _call_bar(call: CallRow, turn_ns: int, now_ns: int, alive: bool) -> Bar:
    start = max(0, call.sent_ns - turn_ns)
    end = max(start, (now_ns if call.ended_ns is None else call.ended_ns) - turn_ns)
    first = None if call.first_delta_ns is None else min(end, max(start, call.first_delta_ns - turn_ns))
    if call.inference_ms is not None and not call.times_suspect:
        split = max(start, end - round(call.inference_ms * 1_000_000))
    else:
        split = end if first is None else first
    name = "warm-up" if call.warmup else f"call {call.number}"
    return Bar(
        kind="call",
        id=call.call,
        name=name,
        start_ns=start,
        end_ns=end,
        running=alive and call.status is None,
        parts=_parts(("api_overhead", start, split), ("inference", split, end)),
        ttft_ns=first,
        status=call.status,
        call=call,
    )


def _tool_bar(tool: ToolRow, turn_ns: int, now_ns: int, alive: bool) -> Bar:
    start = max(0, tool.started_ns - turn_ns)
    end = max(start, (now_ns if tool.ended_ns is None else tool.ended_ns) - turn_ns)
    return Bar(
        kind="tool",
        id=tool.tool_call,
        name=tool.name,
        start_ns=start,
        end_ns=end,
        running=alive and tool.ended_ns is None,
        parts=_parts(("client_tool", start, end)),
        status=tool.status,
        tool=tool,
    )


def _approval_bar(approval: ApprovalRow, turn_ns: int, now_ns: int, alive: bool) -> Bar:
    start = max(0, approval.opened_ns - turn_ns)
    end = max(start, (now_ns if approval.resolved_ns is None else approval.resolved_ns) - turn_ns)
    return Bar(
        kind="approval",
        id=approval.approval,
        name="approve",
        start_ns=start,
        end_ns=end,
        running=alive and approval.resolved_ns is None,
        parts=_parts(("approval", start, end)),
        status=approval.decision,
        approval=approval,
    )


def _parts(*parts: tuple[Stage, int, int]) -> tuple[tuple[Stage, int, int], ...]:
    return tuple(part for part in parts if part[2] > part[1])


def _place(bars: list[Bar]) -> tuple[list[Bar], int]:
    """Give each bar the lowest free lane; bars come in order of their start."""
    ends: list[int] = []
    placed: list[Bar] = []
    for bar in bars:
        lane = next((lane for lane, end in enumerate(ends) if end <= bar.start_ns), len(ends))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = max(bar.end_ns, bar.start_ns + 1)
        placed.append(msgspec.structs.replace(bar, lane=lane))
    return placed, len(ends)


def _position(bar: Bar) -> tuple[int, int]:
    return bar.start_ns, -bar.end_ns
