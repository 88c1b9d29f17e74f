"""Lines, rows and pages: the little that every painter and the widget that shows them agree on. Pure.

A span is text with a role; the theme says what a role looks like. There is no markup: text is only ever text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Literal, TypeAlias

import msgspec
from rich.cells import cell_len, set_cell_size

from dashboard.state.fold import State
from dashboard.state.format import one_line

Role = Literal[
    "", "strong", "dim", "inference", "overhead", "tools", "approval", "other", "bad", "warn", "good", "accent",
    "inference.tick", "head", "em", "title", "quote", "link", "code", "code.word", "code.name", "code.text",
    "code.number", "code.note", "added", "removed", "added.word", "removed.word", "chosen",
]  # fmt: skip
"""What a text stands for. One accent per quantity, everywhere the same."""
Span: TypeAlias = tuple[str, Role]
Line: TypeAlias = tuple[Span, ...]

STAGE_ROLES: dict[str, Role] = {
    "inference": "inference",
    "client_tool": "tools",
    "api_overhead": "overhead",
    "approval": "approval",
    "client_other": "other",
}
STAGE_GLYPHS = {"inference": "█", "client_tool": "▒", "api_overhead": "╱", "approval": "░", "client_other": "·"}
"""A stage is told by its glyph as well as by its colour."""


class Row(msgspec.Struct, frozen=True):
    """A line that scrolls. `key` names what it shows; None: it can't be selected."""

    line: Line
    key: str | None = None
    detail: tuple[Line, ...] = ()
    """What is said of it below the panel while it is selected, at most two lines."""
    copy: str = ""
    """What copying it gives; "" = the line's text."""


class Page(msgspec.Struct, frozen=True):
    """A panel's content. `fixed` stays while `rows` scroll."""

    fixed: tuple[Line, ...] = ()
    rows: Sequence[Row] = ()
    stick: bool = False
    """Whether to stay at the end as rows come."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a painter looks at: the state, the selected turn, the instant, and how wide the paper is in cells."""

    state: State
    turn: str | None
    now_ns: int
    width: int
    zone: tzinfo = UTC
    titles: Mapping[str, str] = {}
    """What turns are called, by id, where a host told."""
    can_answer: bool = True
    """Whether approvals can be answered from here."""
    raw_types: str = ""
    """Text that the type or ids of a raw event must contain."""


class Lazy(Sequence[Row]):
    """Rows that are painted when they are looked at."""

    def __init__(self, keys: Sequence[str], paint: Callable[[int], Row]) -> None:
        self.keys, self._paint = keys, paint

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> Row:  # type: ignore[override]  # rows are looked at one by one
        return self._paint(index)


def text_of(line: Line) -> str:
    return "".join(text for text, _ in line)


def left(text: str, width: int) -> str:
    """`text` in exactly `width` cells, cut with an ellipsis."""
    if cell_len(text) > width:
        return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""
    return set_cell_size(text, width)


def right(text: str, width: int) -> str:
    """`text` right-aligned in exactly `width` cells."""
    length = cell_len(text)
    return " " * (width - length) + text if length <= width else left(text, width)


def line_width(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def crop(line: Line, width: int) -> Line:
    """The first `width` cells of a line; a cut is marked."""
    if line_width(line) <= width:
        return line
    spans: list[Span] = []
    room = width
    for text, role in line:
        if cell_len(text) >= room:
            spans.append((left(text + " ", room), role))  # the blank makes it too long, so that the cut shows
            break
        spans.append((text, role))
        room -= cell_len(text)
    return tuple(spans)


def joined(parts: Sequence[Line], gap: str = "  ") -> Line:
    """Parts one after the other with a gap between them."""
    spans: list[Span] = []
    for part in parts:
        if spans:
            spans.append((gap, ""))
        spans.extend(part)
    return tuple(spans)


def labelled(label: str, value: str, role: Role = "") -> Line:
    """`ttft 92 ms`: the label dim, the value in its role."""
    return ((f"{label} ", "dim"), (value, role or "strong"))


def fill(parts: Sequence[Line], width: int, gap: str = "  ") -> Line:
    """As many of `parts`, from the first on, as have room."""
    kept: list[Line] = []
    used = 0
    for part in parts:
        needed = line_width(part) + (len(gap) if kept else 0)
        if used + needed > width:
            break
        kept.append(part)
        used += needed
    return joined(kept, gap)


def wrapped(parts: Sequence[Line], width: int, gap: str = "  ", most: int = 4) -> tuple[Line, ...]:
    """Parts over as many lines as they need, at most `most`; only a part wider than a line is cut."""
    lines: list[list[Line]] = [[]]
    used = 0
    for part in parts:
        needed = line_width(part)
        if lines[-1] and used + len(gap) + needed > width:
            lines.append([])
            used = 0
        used += needed + (len(gap) if lines[-1] else 0)
        lines[-1].append(part)
    return tuple(crop(joined(line, gap), width) for line in lines[:most] if line)


def title_of(look: Look, turn: str, fallback: str) -> str:
    """What a turn is called on screen, harmless and on one line."""
    return one_line(look.titles.get(turn) or fallback, 200)


def nothing(what: str, *hints: str) -> Page:
    """A page that has nothing to show, and says what to do about it."""
    rows = [Row(((what, "strong"),)), Row(())]
    rows += [Row(((hint, "dim"),)) for hint in hints]
    return Page(rows=[Row(()), *rows])
