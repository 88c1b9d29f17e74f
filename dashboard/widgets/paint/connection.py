"""Connections: the open socket and its way to rotation, then all of them, then what happened to them. Pure."""

from __future__ import annotations

from dashboard.state.connections import ROTATE_AFTER_S, Connection
from dashboard.state.format import UNKNOWN, age, countdown, duration, number, one_line, size, time_of_day
from dashboard.widgets.paint.tables import Cell, Column, table
from dashboard.widgets.spans import Line, Look, Page, Role, Row, crop, labelled, nothing, wrapped

LIMIT = 200
STATES: dict[str, tuple[str, Role]] = {"open": ("●", "good"), "closed": ("○", "dim"), "lost": ("✗", "bad")}
_EVENT_GLYPHS: dict[str, tuple[str, Role]] = {
    "opened": ("+", "good"),
    "prewarmed": ("+", "good"),
    "rotated": ("↻", "accent"),
    "reconnected": ("↯", "warn"),
    "fallback": ("↓", "warn"),
    "closed": ("○", "dim"),
}
_COLUMNS = (
    Column("", align="left"),
    Column("opened", align="left", role="dim"),
    Column("age"),
    Column("handshake", 2),
    Column("calls"),
    Column("⟲ reused", 1),
    Column("failed", 4),
    Column("up", 3),
    Column("down", 5),
    Column("lanes", 6),
    Column("ended by", 7, align="left", wide=True),
)


def paint(look: Look) -> Page:
    found = look.state.connections.newest_first()[:LIMIT]
    current = look.state.connections.current()
    if current is None:
        fallbacks = [one for one in look.state.errors if one.subject == "connection"]
        if fallbacks:
            return nothing(
                "No socket is open.", f"Calls go over HTTP: {one_line(fallbacks[-1].code, 60)}.",
                "The Cache & reuse tab shows what that sends again.",
            )  # fmt: skip
        return nothing("No connection yet.", "The first call of a session opens one.")
    header, lines = table(_COLUMNS, [_cells(look, one) for one in found], look.width)
    rows = [Row(line, key=one.connection, detail=_detail(look, one)) for line, one in zip(lines, found, strict=True)]
    rows += [Row(()), Row((("what happened", "head"),))]
    rows += _events(look, found)
    return Page(fixed=(*_current(look, current), (), header), rows=rows)


def _current(look: Look, one: Connection) -> tuple[Line, ...]:
    glyph, role = STATES[one.state]
    left_s = one.rotates_in_s(look.now_ns)
    words = {"open": "open", "closed": "closed", "lost": "lost: its process ended"}
    parts: list[Line] = [((f"{glyph} {words[one.state]}", role),)]
    parts.append(labelled("age", age(one.age_s(look.now_ns))))
    if left_s is not None:
        parts.append(labelled("rotates in", countdown(left_s)))
    parts += [
        labelled("handshake", duration(one.handshake_ms)),
        labelled("calls", number(one.calls)),
        labelled("⟲ reused", number(one.reused)),
        labelled("up", size(one.bytes_up)),
        labelled("down", size(one.bytes_down)),
    ]
    lines = wrapped(parts, look.width, "   ", 2)
    return (*lines, _life(one.age_s(look.now_ns), look.width)) if one.state == "open" else lines


def _life(age_s: float | None, width: int) -> Line:
    """How much of its life until rotation a connection has had."""
    if age_s is None:
        return ()
    room = max(8, width - 18)
    done = min(room, round(age_s / ROTATE_AFTER_S * room))
    return (("━" * done, "accent"), ("╌" * (room - done), "dim"), (" rotation at 55:00", "dim"))


def _cells(look: Look, one: Connection) -> list[Cell]:
    glyph, role = STATES[one.state]
    return [
        (glyph, role),
        time_of_day(one.opened_ns, look.zone, seconds=True),
        age(one.age_s(look.now_ns)),
        duration(one.handshake_ms),
        number(one.calls),
        number(one.reused),
        (number(one.failed), "bad" if one.failed else ""),
        size(one.bytes_up),
        size(one.bytes_down),
        number(len(one.lanes) + 1),
        one_line(one.cause, 40) if one.state != "open" and one.cause else ("lost" if one.state == "lost" else UNKNOWN),
    ]


def _detail(look: Look, one: Connection) -> tuple[Line, ...]:
    parts: list[Line] = [
        ((one_line(one.connection, 60), "strong"),),
        labelled("session", one_line(one.session or UNKNOWN, 60)),
        labelled("process", one_line(one.source, 64)),
        labelled("lanes", ", ".join(["default", *(one_line(lane, 30) for lane in sorted(one.lanes))][:8])),
    ]
    if one.cause is not None:
        parts.append(labelled("cause", one_line(one.cause, 60)))
    return wrapped(parts, look.width, most=2)


def _events(look: Look, found: list[Connection]) -> list[Row]:
    events = [(at_ns, what, cause, one) for one in found for at_ns, what, cause in one.history]
    events.sort(key=lambda event: event[0], reverse=True)
    rows = []
    for at_ns, what, cause, one in events[:LIMIT]:
        glyph, role = _EVENT_GLYPHS.get(what, ("·", "dim"))
        line: Line = (
            (time_of_day(at_ns, look.zone, seconds=True), "dim"),
            (f"  {glyph} {one_line(what, 20):<12}", role),
            (one_line(one.connection, 40), ""),
            (f"  {one_line(cause, 60)}" if cause else "", "dim"),
        )
        rows.append(Row(crop(line, look.width)))
    return rows
