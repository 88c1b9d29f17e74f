"""Cache and reuse: what the open socket saved, and what became of the chain on every call. Pure.

Savings are computed from running counts and say so; the engine's cache is what the provider reports.
"""

from __future__ import annotations

from agent_core.telemetry.rollup.figures import Figures
from agent_core.telemetry.rollup.rows import CallRow
from dashboard.state.format import UNKNOWN, cached, number, percent, reuse_word, short_number, size
from dashboard.state.savings import Savings
from dashboard.widgets.paint.tables import Cell, Column, table
from dashboard.widgets.paint.tokens import told
from dashboard.widgets.spans import Line, Look, Page, Role, Row, labelled, nothing, title_of, wrapped

LIMIT = 500
_MARKS: dict[str | None, tuple[str, Role]] = {
    "first": ("•", "dim"),
    "reused": ("⟲", "good"),
    "reconnected": ("↯", "warn"),
    None: ("·", "dim"),
}
_COMPUTED = "computed"


def paint(look: Look) -> Page:
    line = look.state.turn_line(look.turn, look.now_ns) if look.turn is not None else None
    if line is None or look.turn is None:
        return nothing("No turn is selected.")
    calls = look.state.calls_of(look.turn)
    all_calls = look.state.rollup.turns[look.turn].calls
    book = look.state.savings
    scopes = {
        "this turn": book.of_calls(all_calls),
        "this session": book.sessions.get(line.session or "", Savings()),
        "all shown": book.total,
    }
    ratios = {
        "this turn": line.cache_ratio,
        "this session": look.state.rollup.groups.sessions.get(line.session or "", Figures()).cache_ratio,
        "all shown": look.state.rollup.groups.total.cache_ratio,
    }
    fixed = (
        ((title_of(look, line.turn, line.title), "strong"), ("  cache & reuse", "dim")),
        *_bars(scopes["this turn"], look.width),
    )
    shown = calls[-LIMIT:]
    header, lines = table(_COLUMNS, [_cells(look, call) for call in shown], look.width)
    rows = [Row(one) for one in ((), *_summary(scopes, ratios, look.width), (), chain(calls, look.width), (), header)]
    rows += [Row(one, key=call.call, detail=_detail(call, look.width)) for one, call in zip(lines, shown, strict=True)]
    return Page(fixed=fixed, rows=rows)


_COLUMNS = (
    Column("call"),
    Column("chain", align="left"),
    Column("up", 1),
    Column("whole input", 2, role="dim"),
    Column("not re-sent", role="good"),
    Column("tokens not re-sent", 3),
    Column("cached", role="inference"),
    Column("service reused", 4),
    Column("items", 5),
)


def _bars(turn: Savings, width: int) -> list[Line]:
    """What went up beside what HTTP would have sent, to one scale."""
    if turn.bytes_unknown or not turn.bytes_full:
        return [labelled("up", size(turn.bytes_up)), (("what HTTP would have sent is not known", "dim"),)]
    room = max(8, width - 34)
    most = max(turn.bytes_up, turn.bytes_full)
    lines: list[Line] = []
    for label, count, role, mark in (
        ("sent       ", turn.bytes_up, "good", ""),
        ("over HTTP  ", turn.bytes_full, "overhead", _COMPUTED),
    ):
        bar = ("█" if role == "good" else "▒") * max(1, round(count / most * room))
        lines.append(((label, "dim"), (bar, role), (f" {size(count)}", "strong"), (f" {mark}" if mark else "", "dim")))  # type: ignore[arg-type]
    return lines


def _summary(scopes: dict[str, Savings], ratios: dict[str, float | None], width: int) -> list[Line]:
    of_scopes = (Column(name, rank) for name, rank in zip(scopes, (0, 2, 3), strict=True))
    columns = (Column("", align="left", role="dim"), *of_scopes)
    figures = list(scopes.values())
    rows: list[list[Cell]] = [
        ["calls ⟲ reused", *(_share(one.reused, one.calls) for one in figures)],
        ["bytes up", *(size(one.bytes_up) for one in figures)],
        [f"bytes not re-sent, {_COMPUTED}", *(_saved(one) for one in figures)],
        [f"tokens not re-sent, {_COMPUTED}", *(_tokens(one) for one in figures)],
        ["cached, as reported", *(percent(ratios[name]) for name in scopes)],
    ]
    header, lines = table(columns, rows, width)
    return [header, *lines]


def chain(calls: list[CallRow], width: int) -> Line:
    """One mark per call: `•` first, `⟲` reused, `↑` whole input, `↯` after a reconnect."""
    marks = [_MARKS.get(call.reuse, ("↑", "warn")) for call in calls[-max(1, (width - 7) // 2) :]]
    return (("chain ", "dim"), *((f" {glyph}", role) for glyph, role in marks))


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" if whole else UNKNOWN


def _saved(one: Savings) -> str:
    share = f" ({percent(one.bytes_share)})" if one.bytes_share is not None else ""
    return f"{size(one.bytes_saved)}{share}"


def _tokens(one: Savings) -> str:
    return f"{short_number(one.tokens_kept)} ({percent(one.tokens_share)})" if one.tokens_in else UNKNOWN


def _cells(look: Look, call: CallRow) -> list[Cell]:
    found = look.state.savings.calls.get(call.call)
    role: Role = "good" if call.reuse == "reused" else "dim" if call.reuse == "first" else "warn"
    return [
        f"{call.number}",
        (reuse_word(call.reuse), role),
        size(call.sent_bytes),
        size(found.bytes_full) if found is not None and not found.bytes_unknown else UNKNOWN,
        _saved_by(found),
        number(found.tokens_kept) if found is not None and found.tokens_in else UNKNOWN,
        told(cached(call.cached_tokens, call.cache_ratio), call, "cached_tokens"),
        number(call.reused_tokens),
        number(call.input_items),
    ]


def _saved_by(found: Savings | None) -> Cell:
    saved = found.bytes_saved if found is not None else None
    return (size(saved), "warn") if saved is not None and saved < 0 else size(saved)


def _detail(call: CallRow, width: int) -> tuple[Line, ...]:
    parts: list[Line] = [((f"call {call.number}", "strong"),), ((reuse_word(call.reuse), ""),)]
    if call.attempts > 1:
        parts.append(labelled("attempts", number(call.attempts), "warn"))
    parts += [labelled("connection", call.connection or UNKNOWN), labelled("lane", call.lane or "default")]
    if call.service_stages_ms:
        stages = sorted(call.service_stages_ms.items(), key=lambda item: -item[1])
        parts += [labelled(f"service {name}", f"{ms:.1f} ms") for name, ms in stages[:5]]
    return wrapped(parts, width, most=2)
