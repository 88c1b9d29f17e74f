"""Lines that stay where they are: the header, the tabs, the detail of a selection, the hints."""

from __future__ import annotations

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from dashboard.widgets.spans import Line, Role, Span, crop, line_width
from dashboard.widgets.strips import app_palette, strip_of


class FixedLines(Widget):
    """Shows lines from the top, each cut at the width. Redraws only those that changed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.lines: tuple[Line, ...] = ()

    def show(self, *lines: Line) -> None:
        before, self.lines = self.lines, lines
        for y in range(max(len(before), len(lines))):
            if before[y : y + 1] != lines[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        line = self.lines[y] if y < len(self.lines) else ()
        line = crop(line, max(0, self.size.width - 2))
        return strip_of(((" ", ""), *line), self.size.width, app_palette(self.app), self.rich_style)


class TabStrip(FixedLines):
    """The names of the tabs with their numbers; the chosen one is marked by brackets as well as by weight."""

    class Chosen(Message):
        def __init__(self, tab: int) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, names: tuple[str, ...], short: tuple[str, ...], *, id: str) -> None:
        super().__init__(id=id)
        self._names, self._short = names, short
        self.chosen = 0
        self._ends: list[int] = []

    def choose(self, tab: int) -> None:
        self.chosen = tab
        self.draw()

    def draw(self) -> None:
        for names in (self._names, self._short, tuple("" for _ in self._names)):
            line, self._ends = self._line(names)
            if line_width(line) <= self.size.width - 1:
                break
        self.show(line)

    def on_resize(self) -> None:
        self.draw()

    def on_click(self, event: events.Click) -> None:
        for tab, end in enumerate(self._ends):
            if event.x - 1 < end:
                self.post_message(self.Chosen(tab))
                return

    def _line(self, names: tuple[str, ...]) -> tuple[Line, list[int]]:
        spans: list[Span] = []
        ends: list[int] = []
        for tab, name in enumerate(names):
            chosen = tab == self.chosen
            label = f"{tab + 1} {name}".strip()
            role: Role = "accent" if chosen else "dim"
            spans.append((f"[{label}]" if chosen else f" {label} ", role))
            ends.append(line_width(tuple(spans)))
        return tuple(spans), ends
