"""Spans to lines of a given width: words stay whole where they fit, wide characters count twice. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, chop_cells

from dashboard.state.format import clean
from dashboard.widgets.spans import Line, Role, Span, line_width

TAB = "    "
_WORDS = re.compile(r"\s+|\S+")


def plain(text: str) -> str:
    """Foreign text as it may be drawn: nothing a terminal obeys, tabs as blanks; newlines stay."""
    return clean(text).expandtabs(4)


def wrap(spans: Iterable[Span], width: int, first: Line = (), rest: Line = ()) -> list[Line]:
    """`spans` (with newlines) as lines of at most `width` cells; `first` stands before the first one, `rest` before
    the others. Always at least one line."""
    lines: list[Line] = []
    current: list[Span] = list(first)
    indent = room = max(1, width - line_width(first))
    for word, role in _words(spans):
        if word == "\n":
            lines.append(_merged(current))
            current, indent = list(rest), max(1, width - line_width(rest))
            room = indent
            continue
        cells = cell_len(word)
        if cells > room and word.isspace():
            continue
        if cells > room and room < indent:
            lines.append(_merged(current))
            current, indent = list(rest), max(1, width - line_width(rest))
            room = indent
        for part in _parts(word, cells, room, max(1, width - line_width(rest))):
            length = cell_len(part)
            if length > room:
                lines.append(_merged(current))
                current, indent = list(rest), max(1, width - line_width(rest))
                room = indent
            current.append((part, role))
            room -= length
    lines.append(_merged(current))
    return lines


def chopped(spans: Sequence[Span], width: int, first: Line = (), rest: Line = ()) -> list[Line]:
    """One line of code as lines of at most `width` cells, cut anywhere: blanks matter."""
    lines: list[Line] = []
    current: list[Span] = list(first)
    room = max(1, width - line_width(first))
    for text, role in spans:
        while text:
            length = cell_len(text)
            if length <= room:
                current.append((text, role))
                room -= length
                break
            head = chop_cells(text, room)[0] if room > 0 else ""
            if cell_len(head) > room or not head:
                head = ""
            if head:
                current.append((head, role))
                text = text[len(head) :]
            elif room >= max(1, width - line_width(rest)):
                current.append((text[:1], role))  # wider than the page
                text = text[1:]
            lines.append(_merged(current))
            current, room = list(rest), max(1, width - line_width(rest))
    lines.append(_merged(current))
    return lines


def _words(spans: Iterable[Span]) -> Iterator[Span]:
    for text, role in spans:
        for number, line in enumerate(text.split("\n")):
            if number:
                yield "\n", role
            for word in _WORDS.findall(line):
                yield word, role


def _parts(word: str, cells: int, room: int, width: int) -> list[str]:
    if cells <= max(room, width):
        return [word]
    return chop_cells(word, width)


def _merged(spans: Sequence[Span]) -> Line:
    """Neighbours of one role as one span; blanks at the end are left out."""
    merged: list[Span] = []
    for text, role in spans:
        if merged and merged[-1][1] == role:
            merged[-1] = (merged[-1][0] + text, role)
        else:
            merged.append((text, role))
    while merged and not merged[-1][0].strip():
        merged.pop()
    if merged:
        merged[-1] = (merged[-1][0].rstrip(), merged[-1][1])
    return tuple(merged)


def styled(text: str, role: Role) -> list[Span]:
    return [(plain(text), role)]
