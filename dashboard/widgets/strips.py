"""Lines of spans to strips of styled cells: the one gate between text and the terminal.

Whatever a span holds, only printable text passes: no escape sequence, no control character, no markup.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from dashboard.state.format import clean
from dashboard.widgets.palette import Palette, palette_of
from dashboard.widgets.spans import Line


def app_palette(app: App[object]) -> Palette:
    theme = app.current_theme
    return palette_of(theme.name, theme.dark)


def strip_of(line: Line, width: int, palette: Palette, base: Style, over: Style | None = None, find: str = "") -> Strip:
    """`line` in exactly `width` cells; `over` lies on the whole line, `find` (lower case) is marked where it occurs."""
    segments: list[Segment] = []
    used = 0
    for text, role in line:
        room = width - used
        if room <= 0:
            break
        text = printable(text)
        length = cell_len(text)
        if length > room:
            text, length = set_cell_size(text, room), room
        style = base + palette.roles[role] + over if over is not None else base + palette.roles[role]
        segments.extend(_found(text, style, palette, find) if find else (Segment(text, style),))
        used += length
    blank = base + over if over is not None else base
    if used < width:
        segments.append(Segment(" " * (width - used), blank))
    return Strip(segments, width)


def printable(text: str) -> str:
    """`text` as one run of printable characters."""
    return text if text.isprintable() else clean(text).replace("\n", " ").replace("\t", " ")


def _found(text: str, style: Style, palette: Palette, find: str) -> list[Segment]:
    segments: list[Segment] = []
    lowered, start = text.lower(), 0
    if len(lowered) != len(text):
        return [Segment(text, style)]
    while (at := lowered.find(find, start)) >= 0:
        if at > start:
            segments.append(Segment(text[start:at], style))
        segments.append(Segment(text[at : at + len(find)], style + palette.match))
        start = at + len(find)
    segments.append(Segment(text[start:], style))
    return [segment for segment in segments if segment.text]
