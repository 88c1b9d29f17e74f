"""Tables that drop their least important columns where there is no room. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.cells import cell_len

from dashboard.widgets.spans import Line, Role, Span, left, right

GAP = 2


class Column(msgspec.Struct, frozen=True):
    """`rank` 0 stays always; the highest goes first. `wide`: is cut before a column goes."""

    title: str
    rank: int = 0
    role: Role = ""
    align: str = "right"
    wide: bool = False


Cell = str | Span | Line
"""A text in the column's role, a span, or several."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> tuple[Line, list[Line]]:
    """The header and one line per row, each at most `width` cells wide."""
    cells = [[_spans(cell, column.role) for cell, column in zip(row, columns, strict=True)] for row in rows]
    widths = [
        max([cell_len(column.title), *(_width(row[index]) for row in cells)]) for index, column in enumerate(columns)
    ]
    shown = _shown(columns, widths, width)
    room = width - sum(widths[index] + GAP for index in shown) + GAP
    for index in shown:
        if columns[index].wide:
            widths[index] = max(cell_len(columns[index].title), widths[index] + min(0, room))
            break
    header = _line([[(columns[index].title, "head")] for index in shown], columns, widths, shown)
    return header, [_line([row[index] for index in shown], columns, widths, shown) for row in cells]


def _shown(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    shown = list(range(len(columns)))
    while len(shown) > 1 and _needed(columns, widths, shown) > width:
        worst = max(shown, key=lambda index: (columns[index].rank, index))
        if columns[worst].rank == 0:
            break
        shown.remove(worst)
    return shown


def _needed(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int]) -> int:
    needed = -GAP
    for index in shown:
        column = columns[index]
        needed += GAP + (min(widths[index], max(12, cell_len(column.title))) if column.wide else widths[index])
    return needed


def _line(
    cells: Sequence[Sequence[Span]], columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int]
) -> Line:
    spans: list[Span] = []
    for position, (cell, index) in enumerate(zip(cells, shown, strict=True)):
        if position:
            spans.append((" " * GAP, ""))
        width = widths[index]
        if len(cell) == 1:
            text, role = cell[0]
            spans.append((right(text, width) if columns[index].align == "right" else left(text, width), role))
            continue
        pad = " " * max(0, width - _width(cell))
        if columns[index].align == "right":
            spans.append((pad, ""))
        spans.extend(cell)
        if columns[index].align != "right":
            spans.append((pad, ""))
    return tuple(spans)


def _spans(cell: Cell, role: Role) -> Sequence[Span]:
    if isinstance(cell, str):
        return [(cell, role)]
    if len(cell) == 2 and isinstance(cell[0], str):
        return [cell]  # a span is told from a line by its first part
    return cell


def _width(cell: Sequence[Span]) -> int:
    return sum(cell_len(text) for text, _ in cell)
