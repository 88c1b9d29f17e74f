"""Tokens: what went in, what of it was cached, what came out, per call and in sum. Pure."""

from __future__ import annotations

from agent_core.telemetry.rollup.rows import CallRow
from dashboard.state.format import UNKNOWN, cached, duration, figure_names, marked, money, number, one_line, rate
from dashboard.state.lines import TurnLine
from dashboard.widgets.paint.tables import Cell, Column, table
from dashboard.widgets.spans import Line, Look, Page, Row, labelled, nothing, title_of, wrapped

LIMIT = 500
"""Calls drawn of one turn, the latest."""
_BAR_CELLS = 12

_COLUMNS = (
    Column("call"),
    Column("in"),
    Column("cached", role="inference"),
    Column("fresh", 5),
    Column("written", 8),
    Column("out"),
    Column("reasoning", 7),
    Column("tok/s", 1),
    Column("ttft", 2),
    Column("gap p50 p95 max", 9),
    Column("cost", 4),
    Column("█▒ in ░ out", 3, align="left"),
)


def paint(look: Look) -> Page:
    calls = look.state.calls_of(look.turn) if look.turn is not None else []
    line = look.state.turn_line(look.turn, look.now_ns) if look.turn is not None else None
    if line is None:
        return nothing("No turn is selected.")
    if not calls:
        return nothing("This turn has sent no call yet.")
    shown = calls[-LIMIT:]
    most = max((_size(call) for call in shown), default=1) or 1
    cells: list[list[Cell]] = [_cells(call, most) for call in shown]
    header, lines = table(_COLUMNS, cells, look.width)
    rows = [
        Row(one, key=call.call, detail=_detail(call, look.width), copy="\t".join(_plain(call)))
        for one, call in zip(lines, shown, strict=True)
    ]
    fixed = (
        ((title_of(look, line.turn, line.title), "strong"), ("  tokens", "dim")),
        *_sums(line, look.width),
        (),
        header,
    )
    return Page(fixed=fixed, rows=rows, stick=line.status is None)


def fresh(call: CallRow) -> int | None:
    """Input tokens neither read from nor written to a cache; None if the provider does not tell."""
    if call.input_tokens is None or call.cached_tokens is None or call.usage_suspect:
        return None
    return call.input_tokens - call.cached_tokens - (call.cache_write_tokens or 0)


def _cells(call: CallRow, most: int) -> list[Cell]:
    out = call.output_tokens
    estimated = out is None and call.output_tokens_est is not None
    return [
        f"{call.number}",
        told(number(call.input_tokens), call, "input_tokens"),
        told(cached(call.cached_tokens, call.cache_ratio), call, "cached_tokens"),
        number(fresh(call)),
        told(number(call.cache_write_tokens), call, "cache_write_tokens"),
        f"≈{number(call.output_tokens_est)}" if estimated else told(number(out), call, "output_tokens"),
        told(number(call.reasoning_tokens), call, "reasoning_tokens"),
        rate(call.rate).removesuffix(" tok/s"),
        told(duration(call.ttft_ms), call, "ttft_ms"),
        _gaps(call),
        told(money(call.cost_usd), call, "cost_usd"),
        composition(call, most),
    ]


def told(text: str, call: CallRow, name: str) -> Cell:
    """A figure of a call; one that cannot be right is marked and stands out."""
    return (marked(text, suspect=True), "warn") if name in call.suspect else text


def composition(call: CallRow, most: int) -> Line:
    """A bar of the call's tokens, to the scale of the largest call shown."""
    if call.usage_suspect:
        return (("no true scale", "warn"),)
    cached_tokens = call.cached_tokens or 0
    parts = (
        ("█", "inference", cached_tokens),
        ("▒", "inference", (call.input_tokens or 0) - cached_tokens),
        ("░", "accent", call.output_tokens or 0),
    )
    spans: list[tuple[str, str]] = []
    for glyph, role, tokens in parts:
        cells = round(tokens / most * _BAR_CELLS)
        if tokens > 0:
            spans.append((glyph * max(1, cells), role))
    return tuple(spans)  # type: ignore[arg-type]


def _sums(line: TurnLine, width: int) -> tuple[Line, ...]:
    parts = [
        labelled("in", marked(number(line.input_tokens), suspect="input_tokens" in line.suspect)),
        labelled(
            "cached",
            marked(cached(line.cached_tokens, line.cache_ratio), suspect="cached_tokens" in line.suspect),
            "inference",
        ),
        labelled("out", marked(number(line.output_tokens), suspect="output_tokens" in line.suspect)),
        ((rate(line.rate, estimated=line.rate_estimated), "strong"),),
        labelled("cost", money(line.cost_usd)),
        labelled("calls", number(line.calls)),
    ]
    return wrapped(parts, width, "   ", 2)


def _detail(call: CallRow, width: int) -> tuple[Line, ...]:
    parts: list[Line] = [
        ((f"call {call.number}", "strong"),),
        ((one_line(call.model or UNKNOWN, 40), ""),),
        labelled("ttft", duration(call.ttft_ms)),
        labelled("visible", duration(call.visible_ttft_ms)),
        labelled("per token", duration(call.tpot_ms)),
        labelled("decode", rate(call.decode_rate)),
        labelled("whole call", rate(call.e2e_rate)),
        labelled("chunk gap p50 p95 max", _gaps(call)),
        labelled("finish", one_line(call.finish_reason or call.error_code or UNKNOWN, 40)),
    ]
    if call.suspect:
        parts.insert(1, ((f"suspect as reported: {figure_names(call.suspect)}", "warn"),))
    if call.cached_tokens is None and call.status is not None:
        parts.append((("cached tokens are not reported", "dim"),))
    return wrapped(parts, width, most=2)


def _plain(call: CallRow) -> list[str]:
    return [
        call.call, str(call.number), number(call.input_tokens), number(call.cached_tokens), number(call.output_tokens),
        rate(call.rate), duration(call.ttft_ms), money(call.cost_usd),
    ]  # fmt: skip


def _gaps(call: CallRow) -> str:
    gaps = call.chunk_gap_ms
    return UNKNOWN if gaps is None else " ".join(f"{gap:.0f}" if gap >= 10 else f"{gap:.1f}" for gap in gaps) + " ms"


def _size(call: CallRow) -> int:
    """The bar's length; a call whose counts cannot be right sets no scale for the others."""
    return 0 if call.usage_suspect else (call.input_tokens or 0) + (call.output_tokens or 0)
