"""Errors: how many of which kind, then each of them, newest first. Pure."""

from __future__ import annotations

from collections import Counter

from dashboard.state.findings import Finding
from dashboard.state.format import one_line, time_of_day
from dashboard.widgets.paint.tables import Cell, Column, table
from dashboard.widgets.spans import Line, Look, Page, Role, Row, crop, joined, labelled, nothing, wrapped

SEVERITIES: dict[str, tuple[str, Role]] = {
    "error": ("✗ error", "bad"),
    "warning": ("▲ warning", "warn"),
    "recovered": ("↻ recovered", "good"),
}
_COLUMNS = (
    Column("time", align="left", role="dim"),
    Column("", align="left"),
    Column("where", 3, align="left"),
    Column("what", align="left", role="strong"),
    Column("", 1, align="left", wide=True),
)


def paint(look: Look) -> Page:
    found = list(reversed(look.state.errors))
    if not found:
        return nothing(
            "Nothing went wrong so far.", "Failed calls, lost sockets and failing tools will be listed here."
        )
    counts = Counter((one.severity, one.code) for one in found)
    order = list(SEVERITIES)
    sums: list[Line] = []
    for (severity, code), count in sorted(counts.items(), key=lambda item: (order.index(item[0][0]), -item[1])):
        word, role = SEVERITIES[severity]
        sums.append(((f"{word.split()[0]} ", role), (one_line(code, 40), ""), (f" {count}", "strong")))
    header, lines = table(_COLUMNS, [_cells(look, one) for one in found], look.width)
    rows = [
        Row(line, key=f"{one.at_ns}-{one.source}-{index}", detail=_detail(one, look.width), copy=_copied(look, one))
        for index, (line, one) in enumerate(zip(lines, found, strict=True), 1 - len(found))
    ]
    return Page(fixed=(*wrapped(sums, look.width, "   ", 2), (), header), rows=rows)


def _cells(look: Look, one: Finding) -> list[Cell]:
    return [
        time_of_day(one.at_ns, look.zone, seconds=True),
        SEVERITIES[one.severity],
        one.subject,
        one_line(one.code, 40),
        one_line(one.text, 200),
    ]


def _detail(one: Finding, width: int) -> tuple[Line, ...]:
    ids = [("turn", one.turn), ("call", one.call), ("connection", one.connection), ("session", one.session)]
    return (
        crop(((one_line(one.text, 200), ""),), width),
        crop(joined([labelled(name, one_line(value, 60), "dim") for name, value in ids if value is not None]), width),
    )


def _copied(look: Look, one: Finding) -> str:
    subjects = (("turn", one.turn), ("call", one.call), ("connection", one.connection), ("session", one.session))
    ids = " ".join(f"{name}={value}" for name, value in subjects if value is not None)
    time = time_of_day(one.at_ns, look.zone, seconds=True)
    return one_line(f"{time} {one.severity} {one.subject} {one.code}: {one.text} {ids}", 2000)
