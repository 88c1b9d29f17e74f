"""The waterfall: one row per call, tool and approval on a true time axis. Pure."""

from __future__ import annotations

import msgspec
from rich.cells import cell_len

from agent_core.telemetry.rollup.rows import CallRow
from dashboard.state.format import STAGE_WORDS, cached, duration, figure_names, number, one_line, rate, reuse_word, size
from dashboard.state.waterfall import Bar, Waterfall, waterfall
from dashboard.widgets.spans import (
    STAGE_GLYPHS,
    STAGE_ROLES,
    Line,
    Look,
    Page,
    Role,
    Row,
    Span,
    labelled,
    left,
    nothing,
    right,
    title_of,
    wrapped,
)

TICK = "┃"
"""The first delta of a call."""
GOES_ON = "›"
"""The end of a bar that still grows."""
_LABEL_CELLS = 7
_NAME_CELLS = (8, 16)


class Axis(msgspec.Struct, frozen=True):
    """`cells` columns stand for `span_ns`."""

    span_ns: int
    cells: int

    def cell(self, ns: int) -> int:
        """The column of an instant."""
        return min(self.cells - 1, max(0, ns * self.cells // self.span_ns))


def paint(look: Look) -> Page:
    found = waterfall(look.state.rollup, look.turn, look.now_ns) if look.turn is not None else None
    if found is None or look.turn is None:
        return nothing("No turn is selected.")
    names = [cell_len(_name(bar)) for bar in found.bars]
    name_cells = min(max([_NAME_CELLS[0], *names]), _NAME_CELLS[1])
    times = 9
    axis = Axis(found.span_ns, max(10, look.width - name_cells - times - 2))
    fixed = (
        _title(look, found),
        *wrapped(stage_parts(found), look.width, "  ", 3),
        stage_bar(found, look.width),
        (),
        ((" " * (name_cells + 1), ""), (axis_labels(axis), "dim")),
    )
    rows = [_row(bar, axis, name_cells, times, look) for bar in found.bars]
    if found.left_out:
        rows.insert(0, Row(((f"{number(found.left_out)} earlier ones are not drawn", "dim"),)))
    return Page(fixed=fixed, rows=rows, stick=found.status is None)


def stage_parts(found: Waterfall) -> list[Line]:
    """`turn 8.41 s =` and the stages that took time, each with its glyph, so that the sum can be read."""
    parts: list[Line] = [(("turn ", "dim"), (duration(found.duration_ms), "strong"), (" =", "dim"))]
    for stage, word in STAGE_WORDS.items():
        ms = found.stages_ms.get(stage, 0.0)  # type: ignore[call-overload]
        if not ms:
            continue
        role = STAGE_ROLES[stage]
        parts.append(((f"{STAGE_GLYPHS[stage]} ", role), (f"{word} ", "dim"), (duration(ms), role)))
    return parts


def stage_bar(found: Waterfall, width: int) -> Line:
    """The five stages side by side, widths true; a stage that took time has at least one cell."""
    stages = [(stage, found.stages_ms.get(stage, 0.0)) for stage in STAGE_WORDS]  # type: ignore[call-overload]
    total = sum(ms for _, ms in stages)
    if total <= 0:
        return (("·" * width, "other"),)
    cells = [max(1, int(ms / total * width)) if ms > 0 else 0 for _, ms in stages]
    longest = max(range(len(stages)), key=lambda index: cells[index])
    cells[longest] += width - sum(cells)
    return tuple(
        (STAGE_GLYPHS[stage] * count, STAGE_ROLES[stage])
        for (stage, _), count in zip(stages, cells, strict=True)
        if count > 0
    )


def axis_labels(axis: Axis) -> str:
    """`0 s        2 s        4 s`: round instants at their columns."""
    step_ns = step_of(max(1_000, axis.span_ns * _LABEL_CELLS // axis.cells))
    labels = ""
    for ns in range(0, axis.span_ns, step_ns):
        column = ns * axis.cells // axis.span_ns
        label = _instant(ns, step_ns)
        if column + len(label) > axis.cells:
            break
        labels = labels.ljust(column) + label
    return labels


def step_of(least_ns: int) -> int:
    """The smallest of 1, 2, 5 times a power of ten nanoseconds that is at least `least_ns`."""
    scale = 1
    while True:
        for factor in (1, 2, 5):
            if factor * scale >= least_ns:
                return factor * scale
        scale *= 10


def bar_spans(bar: Bar, axis: Axis) -> list[Span]:
    """One bar at its place: a cell for what is shorter, the first delta's tick where there is room for it."""
    first = axis.cell(bar.start_ns)
    last = max(first, axis.cell(max(bar.start_ns, bar.end_ns - 1)))
    cells: list[Span] = []
    for column in range(first, last + 1):
        middle_ns = (2 * column + 1) * axis.span_ns // (2 * axis.cells)
        cells.append(_part_cell(bar, middle_ns))
    if len(cells) == 1 and bar.parts:
        cells = [_stage_cell(max(bar.parts, key=lambda part: part[2] - part[1])[0])]
    if len(cells) >= 2 and len(bar.parts) >= 2:
        cells[0], cells[-1] = _stage_cell(bar.parts[0][0]), _stage_cell(bar.parts[-1][0])
    if bar.ttft_ns is not None and len(cells) >= 3:
        tick = min(len(cells) - 2, max(1, axis.cell(bar.ttft_ns) - first))
        cells[tick] = (TICK, "inference.tick")
    if bar.running:
        cells[-1] = (GOES_ON, cells[-1][1])
    spans: list[Span] = [(" " * first, "")]
    for glyph, role in cells:
        if spans[-1][1] == role:
            spans[-1] = (spans[-1][0] + glyph, role)
        else:
            spans.append((glyph, role))
    spans.append((" " * (axis.cells - last - 1), ""))
    return spans


def _title(look: Look, found: Waterfall) -> Line:
    line = look.state.turn_line(found.turn, look.now_ns)
    name = title_of(look, found.turn, line.title if line is not None else found.turn)
    status = found.status or "running"
    models = one_line(", ".join(line.models), 60) if line is not None else ""
    return ((name, "strong"), (f"  {status}", status_role(found.status)), (f"  {models}" if models else "", "dim"))


def status_role(status: str | None) -> Role:
    return {"failed": "bad", "interrupted": "bad", "cancelled": "warn", None: "accent"}.get(status, "good")  # type: ignore[return-value]


def _row(bar: Bar, axis: Axis, name_cells: int, times: int, look: Look) -> Row:
    trouble = bar.status in ("failed", "error", "denied", "deny", "timeout", "interrupted", "cancelled")
    mark = "✗" if trouble else ""
    name_role = STAGE_ROLES[bar.parts[-1][0]] if bar.parts else "other"
    line: Line = (
        (left(_name(bar), name_cells), "bad" if trouble else name_role),
        (" ", ""),
        *bar_spans(bar, axis),
        (right(f"{mark}{' ' if mark else ''}{duration(bar.duration_ms)}", times + 1), "bad" if trouble else "dim"),
    )
    return Row(line, key=bar.id, detail=detail(bar, look), copy=_copied(bar))


def detail(bar: Bar, look: Look) -> tuple[Line, ...]:
    """Two lines about a bar: where and how long, then what it moved."""
    status = bar.status or ("waits" if bar.kind == "approval" else "running")
    what: list[Line] = [((one_line(_name(bar), 60), "strong"),), ((status, status_role_of_bar(bar)),)]
    what += [
        labelled("from", f"+{duration(bar.start_ns / 1e6)}"),
        labelled("took", duration(bar.duration_ms) + (" so far" if bar.running else "")),
    ]
    if bar.call is not None:
        return wrapped([*what, *_call_times(bar.call), *_call_counts(bar.call)], look.width, most=2)
    if bar.tool is not None and bar.tool.output_bytes is not None:
        what.append(labelled("output", size(bar.tool.output_bytes)))
    if bar.approval is not None:
        what.append(labelled("kind", one_line(bar.approval.kind, 40)))
        if bar.running and look.can_answer:
            what.append((("a", "accent"), (" answers it", "dim")))
        elif bar.approval.by is not None:
            what.append(labelled("by", one_line(bar.approval.by, 40)))
    return wrapped(what, look.width, most=2)


def status_role_of_bar(bar: Bar) -> Role:
    if bar.status is None:
        return "accent"
    return "good" if bar.status in ("ok", "completed", "allow", "always") else "bad"


def _call_times(call: CallRow) -> list[Line]:
    parts = [
        labelled("ttft", duration(call.ttft_ms)),
        labelled("overhead", duration(call.overhead_ms), "overhead"),
        labelled("inference", duration(call.inference_ms), "inference"),
    ]
    if call.error_code is not None:
        parts.insert(0, ((one_line(call.error_code, 40), "bad"),))
    return parts


def _call_counts(call: CallRow) -> list[Line]:
    out = call.output_tokens if call.output_tokens is not None else call.output_tokens_est
    estimated = "≈" if call.output_tokens is None and out is not None else ""
    parts = [
        ((reuse_word(call.reuse), "strong"),),
        labelled("in", number(call.input_tokens)),
        labelled("cached", cached(call.cached_tokens, call.cache_ratio)),
        labelled("out", f"{estimated}{number(out)}"),
        ((rate(call.rate), "strong"),),
        labelled("up", size(call.sent_bytes)),
    ]
    if call.attempts > 1:
        parts.append(labelled("attempts", number(call.attempts), "warn"))
    if call.suspect:
        parts.append(labelled("suspect", figure_names(call.suspect), "warn"))
    return parts


def _name(bar: Bar) -> str:
    return one_line(bar.name, 60)


def _copied(bar: Bar) -> str:
    return (
        f"{bar.kind} {one_line(bar.id, 120)} {_name(bar)} +{duration(bar.start_ns / 1e6)} {duration(bar.duration_ms)}"
    )


def _part_cell(bar: Bar, at_ns: int) -> Span:
    for stage, _, end_ns in bar.parts:
        if at_ns < end_ns:
            return _stage_cell(stage)
    if bar.parts:
        return _stage_cell(bar.parts[-1][0])
    return _stage_cell({"call": "api_overhead", "tool": "client_tool", "approval": "approval"}[bar.kind])


def _stage_cell(stage: str) -> Span:
    return STAGE_GLYPHS[stage], STAGE_ROLES[stage]


def _instant(ns: int, step_ns: int) -> str:
    if ns >= 1_000_000_000 or ns == 0:
        digits = 0 if step_ns % 1_000_000_000 == 0 or ns == 0 else 1 if step_ns % 100_000_000 == 0 else 2
        return f"{ns / 1_000_000_000:.{digits}f} s"
    if step_ns >= 1_000_000:
        return f"{ns // 1_000_000} ms"
    return f"{ns // 1_000} µs"
