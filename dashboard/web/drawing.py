"""A turn as shapes: the waterfall's lines, the stack of stages, the ticks of the axis. Pure.

Positions are per cent of the axis, so that pages need no script and no style to place them.
"""

from __future__ import annotations

import math

import msgspec

from agent_core.telemetry.rollup.rows import CallRow
from dashboard.state import format as fmt
from dashboard.state.fold import State
from dashboard.state.waterfall import Bar, Waterfall

MIN_WIDTH = 0.15
"""Of a bar, in per cent of the axis, so that it can be seen."""
MAX_EVENTS = 100
_STEPS_MS = (1, 2, 5)


class Part(msgspec.Struct, frozen=True):
    """A stretch of a bar in per cent of the axis."""

    stage: str
    x: float
    width: float
    start_ms: float
    end_ms: float


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the waterfall."""

    name: str
    kind: str
    parts: list[Part]
    ttft_x: float | None
    """Where the first token is, in per cent of the axis; None without one."""
    ttft_ms: float | None
    """None without a first token."""
    running: bool
    status: str
    offset: str
    duration: str
    note: str
    label: str
    """What is read aloud."""


class Stretch(msgspec.Struct, frozen=True):
    """A stage of the whole turn: where its part of the stack begins and ends, in per cent."""

    stage: str
    word: str
    x: float
    width: float
    text: str


def draw(bar: Bar, fall: Waterfall) -> Line:
    """A bar as a line of the waterfall: positions in per cent of the axis."""
    span = fall.span_ns
    parts = [_part(stage, start, end, span) for stage, start, end in bar.parts]
    if not parts:
        parts = [
            _part(
                {"call": "api_overhead", "tool": "client_tool"}.get(bar.kind, "approval"),
                bar.start_ns,
                bar.end_ns,
                span,
            )
        ]
    offset = f"+{fmt.duration(bar.start_ns / 1e6)}"
    length = fmt.duration(bar.duration_ms)
    note = call_note(bar.call) if bar.call is not None else ""
    status = "running" if bar.running else (bar.status or "")
    told = [bar.name, status, f"starts at {offset}", f"takes {length}", note]
    return Line(
        name=fmt.one_line(bar.name, 40),
        kind=bar.kind,
        parts=parts,
        ttft_x=None if bar.ttft_ns is None else bar.ttft_ns * 100 / span,
        ttft_ms=None if bar.ttft_ns is None else bar.ttft_ns / 1e6,
        running=bar.running,
        status=status,
        offset=offset,
        duration=length,
        note=note,
        label=", ".join(fmt.one_line(one, 80) for one in told if one),
    )


def call_note(call: CallRow) -> str:
    """What became of a call, in a few words."""
    if call.error_code:
        return fmt.one_line(call.error_code, 40)
    return fmt.reuse_word(call.reuse)


def stack(fall: Waterfall) -> list[Stretch]:
    """The stages of a turn as one horizontal stack, widths true; those of no length are left out of it."""
    whole = sum(fall.stages_ms.values())
    found, x = [], 0.0
    for stage, word in fmt.STAGE_WORDS.items():
        ms = next((value for name, value in fall.stages_ms.items() if name == stage), 0.0)
        width = ms * 100 / whole if whole else 0.0
        found.append(Stretch(stage, word, x, width, fmt.duration(ms) if ms else fmt.duration(0.0)))
        x += width
    return found


def ticks(span_ms: float) -> list[tuple[float, str]]:
    """Round instants on an axis: (per cent, text), about five."""
    rough = max(span_ms / 5, 1e-3)
    power = 10 ** math.floor(math.log10(rough))
    step = next((factor * power for factor in _STEPS_MS if factor * power >= rough), 10 * power)
    return [(number * step * 100 / span_ms, _tick(number * step, step)) for number in range(int(span_ms / step) + 1)]


def _tick(ms: float, step_ms: float) -> str:
    if step_ms < 1000:
        return f"{ms:g} ms" if ms < 1000 else f"{ms / 1000:g} s"
    return f"{ms / 1000:g} s" if ms < 120_000 else f"{ms / 60_000:g} min"


def connection_events(state: State, turn: str, fall: Waterfall) -> list[tuple[float, str, str]]:
    """Events of the turn's connections on its axis: (per cent, what, when); those before it at 0."""
    names = {call.connection for call in state.calls_of(turn)}
    found = []
    for name in names:
        row = state.connections.rows.get(name or "")
        for at_ns, what, cause in row.history if row is not None else ():
            offset_ns = at_ns - fall.started_ns
            if offset_ns > fall.span_ns:
                continue
            text = fmt.one_line(f"{what}: {cause}" if cause else what, 60)
            when = f"+{fmt.duration(offset_ns / 1e6)}" if offset_ns >= 0 else f"{fmt.age(-offset_ns / 1e9)} before"
            found.append((offset_ns, (max(0.0, offset_ns * 100 / fall.span_ns), text, when)))
    found.sort(key=_offset)
    return [event for _, event in found][-MAX_EVENTS:]


def _part(stage: str, start_ns: int, end_ns: int, span_ns: int) -> Part:
    width = max(MIN_WIDTH, (end_ns - start_ns) * 100 / span_ns)
    x = min(start_ns * 100 / span_ns, 100 - width)
    return Part(stage, round(x, 4), round(width, 4), start_ns / 1e6, end_ns / 1e6)


def _offset(item: tuple[int, tuple[float, str, str]]) -> int:
    return item[0]
