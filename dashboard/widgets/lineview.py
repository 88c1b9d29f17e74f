"""Lines that scroll under fixed ones, with one selected. Virtual: however long the page, only what is seen is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dashboard.widgets.spans import Lazy, Line, Page, Row, crop, text_of
from dashboard.widgets.strips import app_palette, strip_of

MARK = "▌"
"""Before the selected row, so that the selection does not hang on colour."""


class LineView(ScrollView, can_focus=True):
    """Shows one `Page` at a time. The selection goes by key, so it survives that rows come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(0)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    class Moved(Message):
        """The user moved the selection."""

        def __init__(self, view: LineView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> LineView:
            return self.view

    class Opened(Moved):
        """The user opened the selected row."""

    def __init__(self, *, id: str, row_lines: int = 1) -> None:
        """Each row takes `row_lines` lines: its line, then its details' first ones."""
        super().__init__(id=id)
        self._row_lines = row_lines
        self._page = Page()
        self._keys: Sequence[str | None] = ()
        self._subject: object = None
        self._painted: dict[int, Row] = {}
        self._drawn: dict[int, tuple[Line, bool]] = {}
        self._find = ""
        self.cursor: str | None = None

    # What is shown

    def show(self, page: Page, subject: object = None) -> None:
        """Show a page. One of another `subject` starts at its own beginning, else selection and place stay."""
        at_end = self.scroll_offset.y >= self.max_scroll_y
        another = subject != self._subject
        at_last = self.cursor is not None and self.cursor == self._edge_key(1)
        self._page, self._subject = page, subject
        self._keys = page.rows.keys if isinstance(page.rows, Lazy) else [row.key for row in page.rows]
        self._painted.clear()
        if self.cursor is None or another or self._index() is None or (page.stick and at_last):
            self.cursor = self._edge_key(1 if page.stick else 0)
        size = Size(self.size.width, len(page.fixed) + len(page.rows) * self._row_lines)
        if size != self.virtual_size:
            self.virtual_size = size
        if page.stick and (at_end or another):
            self.scroll_to(y=max(0, size.height - self.size.height), animate=False, force=True)
        elif another:
            self.scroll_to(y=0, animate=False, force=True)
        self.redraw(everything=another)

    def redraw(self, *, everything: bool = False) -> None:
        """Draw anew what changed among the lines in sight."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = self.scroll_y  # scrolled before there was a bar, it would not know
        if everything:
            self._drawn.clear()
            self.refresh()
            return
        for y in range(self.size.height):
            if self._drawn.get(y) != self._content(y):
                self.refresh(Region(0, y, self.size.width, 1))

    @property
    def row(self) -> Row | None:
        """The selected row."""
        index = self._index()
        return None if index is None else self._row(index)

    @property
    def rows(self) -> Sequence[Row]:
        return self._page.rows

    # Searching

    def find(self, text: str) -> int:
        """Mark `text` wherever it occurs and select the next row that has it; how many rows do. "" ends it."""
        self._find = text.lower()
        hits = self._hits()
        if hits:
            index = self._index() or 0
            self._select(next((hit for hit in hits if hit >= index), hits[0]))
        self.redraw(everything=True)
        return len(hits)

    def find_next(self, step: int) -> None:
        hits = self._hits()
        if not hits:
            return
        index = self._index() or 0
        later = [hit for hit in hits if hit > index] if step > 0 else [hit for hit in reversed(hits) if hit < index]
        self._select(later[0] if later else hits[0 if step > 0 else -1])

    def _hits(self) -> list[int]:
        if not self._find:
            return []
        return [
            index
            for index in range(len(self._page.rows))
            if self._keys[index] is not None and self._find in text_of(self._row(index).line).lower()
        ]

    # Moving

    def action_move(self, step: int) -> None:
        index = self._index()
        if index is None:
            self.scroll_relative(y=step, animate=False)
            return
        index += step
        while 0 <= index < len(self._keys):
            if self._keys[index] is not None:
                self._select(index)
                return
            index += step
        self.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        index = self._index()
        rows = max(1, (self.size.height - len(self._page.fixed)) // self._row_lines - 1)
        if index is None:
            self.scroll_relative(y=step * rows, animate=False)
            return
        target = min(len(self._keys) - 1, max(0, index + step * rows))
        selectable = [at for at, key in enumerate(self._keys) if key is not None]
        self._select(min(selectable, key=lambda at: abs(at - target)))

    def action_edge(self, end: int) -> None:
        self.cursor = self._edge_key(end)
        self.scroll_to(y=self.max_scroll_y if end else 0, animate=False, force=True)
        self.redraw()
        self.post_message(self.Moved(self))

    def action_open(self) -> None:
        self.post_message(self.Opened(self))

    def select(self, key: str) -> None:
        """Select the row of `key` if there is one, without telling anyone."""
        if key in self._keys:
            self.cursor = key
            self._bring_into_sight(self._keys.index(key))
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        index = self._row_at(event.y)
        if index is not None and self._keys[index] is not None:
            self._select(index)

    def on_focus(self) -> None:
        self.redraw(everything=True)

    def on_blur(self) -> None:
        self.redraw(everything=True)

    def on_resize(self) -> None:
        self._drawn.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._drawn.clear()

    def _select(self, index: int) -> None:
        self.cursor = self._keys[index]
        self._bring_into_sight(index)
        self.redraw()
        self.post_message(self.Moved(self))

    def _bring_into_sight(self, index: int) -> None:
        top, height = index * self._row_lines, self._row_lines
        room = max(1, self.size.height - len(self._page.fixed))
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)
        elif top + height > self.scroll_offset.y + room:
            self.scroll_to(y=top + height - room, animate=False, force=True)

    # Drawing

    def render_line(self, y: int) -> Strip:
        line, selected = self._drawn[y] = self._content(y)
        palette = app_palette(self.app)
        over = None
        if selected:
            over = palette.cursor if self.has_focus else palette.marked
        mark: Line = ((MARK if selected else " ", "accent" if self.has_focus else "dim"),)
        line = crop(line, max(0, self.size.width - 2))
        return strip_of((*mark, *line), self.size.width, palette, self.rich_style, over, self._find)

    def _content(self, y: int) -> tuple[Line, bool]:
        """The line at `y` of the widget, and whether it belongs to the selected row."""
        fixed = self._page.fixed
        if y < len(fixed):
            return fixed[y], False
        index = self._row_at(y)
        if index is None:
            return (), False
        row = self._row(index)
        part = (y - len(fixed) + self.scroll_offset.y) % self._row_lines
        lines = (row.line, *row.detail)
        line = lines[part] if part < len(lines) else ()
        return line, row.key is not None and row.key == self.cursor

    def _row_at(self, y: int) -> int | None:
        index = (y - len(self._page.fixed) + self.scroll_offset.y) // self._row_lines
        return index if y >= len(self._page.fixed) and index < len(self._page.rows) else None

    def _row(self, index: int) -> Row:
        row = self._painted.get(index)
        if row is None:
            row = self._painted[index] = self._page.rows[index]
        return row

    def _index(self) -> int | None:
        if self.cursor is None:
            return None
        try:
            return self._keys.index(self.cursor)
        except ValueError:
            return None

    def _edge_key(self, end: int) -> str | None:
        keys = reversed(self._keys) if end else iter(self._keys)
        return next((key for key in keys if key is not None), None)
