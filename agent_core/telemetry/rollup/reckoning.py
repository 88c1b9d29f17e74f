"""The stages of a turn whose agent tells none: worked out of the times of its calls and tools. Pure.

The same definition as `stages.StageClock`, read from whole intervals, so that the order in which they were told does
not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_core.telemetry.events import Stage
from agent_core.telemetry.rollup.rows import CallRow, ToolRow, TurnRow
from agent_core.telemetry.rollup.stages import ms_to_ns

MAX_PARTS = 2_000
"""Calls and tools of one turn that are worked with; beyond it all of its time is `client_other`."""

Interval = tuple[int, int]


def reckon(turn: TurnRow, calls: Sequence[CallRow], end_ns: int) -> None:
    """Set the stages, the duration and the first-token time of a turn as it stands at `end_ns`."""
    turn.duration_ns = max(0, end_ns - turn.started_ns)
    turn.stages_ns = stages(turn.started_ns, turn.started_ns + turn.duration_ns, calls, turn.tools)
    firsts = [
        call.first_delta_ns - turn.started_ns
        for call in calls
        if call.first_delta_ns is not None and not call.warmup and "ttft_ms" not in call.suspect
    ]
    turn.ttft_ms = max(0, min(firsts)) / 1_000_000 if firsts else None


def stages(start_ns: int, end_ns: int, calls: Sequence[CallRow], tools: Sequence[ToolRow]) -> dict[Stage, int]:
    """The split of [start, end): what calls took, of the rest what tools took, and what is left."""
    if len(calls) + len(tools) > MAX_PARTS:
        calls, tools = (), ()
    called = _union((call.attempt_ns, _end(call.ended_ns, end_ns)) for call in calls)
    called = _clipped(called, start_ns, end_ns)
    worked = _union([*called, *((tool.started_ns, _end(tool.ended_ns, end_ns)) for tool in tools)])
    call_ns = _length(called)
    tool_ns = _length(_clipped(worked, start_ns, end_ns)) - call_ns
    inference_ns = min(call_ns, sum(map(_inference_ns, calls)))
    return {
        "api_overhead": call_ns - inference_ns,
        "inference": inference_ns,
        "client_tool": tool_ns,
        "approval": 0,
        "client_other": end_ns - start_ns - call_ns - tool_ns,
    }


def _inference_ns(call: CallRow) -> int:
    if call.inference_ms is not None:
        return ms_to_ns(call.inference_ms)
    if call.first_delta_ns is None or call.ended_ns is None:
        return 0
    return max(0, call.ended_ns - call.first_delta_ns)


def _end(ended_ns: int | None, end_ns: int) -> int:
    return end_ns if ended_ns is None else ended_ns


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _clipped(intervals: Iterable[Interval], start_ns: int, end_ns: int) -> list[Interval]:
    found = ((max(start, start_ns), min(end, end_ns)) for start, end in intervals)
    return [(start, end) for start, end in found if start < end]


def _length(intervals: Iterable[Interval]) -> int:
    return sum(end - start for start, end in intervals)
