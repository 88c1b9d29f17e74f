"""The page of the conversation: scrolls, stays at its end while that is in sight, draws only what changed."""

from __future__ import annotations

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dashboard.agent.conversation.page import Conversation
from dashboard.agent.paint.sheet import Sheet
from dashboard.widgets.spans import Line, Role
from dashboard.widgets.strips import app_palette, strip_of

MARGIN = 2
SETTLED_AT_ONCE = 30
"""Blocks that are painted between two looks at the keyboard after the width changed."""


class Transcript(ScrollView, can_focus=False):
    """Owned by the screen, which calls `draw` when it is due."""

    def __init__(self, conversation: Conversation, *, id: str) -> None:
        super().__init__(id=id)
        self.conversation = conversation
        self.sheet = Sheet()
        self.chosen: str | None = None
        """Key of the block that is marked, to be opened."""
        self._find = ""
        self._drawn: dict[int, tuple[Line, Role | None]] = {}
        self._settling = False
        self._stuck = True
        """Whether the end stays in sight."""
        self._rows = 0

    # What is shown

    def show(self, conversation: Conversation) -> None:
        """Another conversation, from its end."""
        self.conversation = conversation
        conversation.refresh()
        self.sheet.load(conversation.blocks)
        self._measure(stick=True)
        self._settle()

    def draw(self) -> None:
        """Bring the page up to date with the conversation."""
        at_end = self.at_end
        blocks = self.conversation.blocks
        changed = self.conversation.refresh()
        self.sheet.take(blocks, changed)
        self._measure(stick=at_end)

    @property
    def at_end(self) -> bool:
        return self._stuck

    def to_end(self) -> None:
        self._stuck = True
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def page(self, step: int) -> None:
        self.scroll_relative(y=step * max(1, self.size.height - 2), animate=False, force=True)

    def lines(self, step: int) -> None:
        self.scroll_relative(y=step, animate=False, force=True)

    # Opening

    def choose(self, step: int) -> None:
        """Mark the next block that can be opened, in sight or the nearest beyond."""
        found = self.sheet.openable()
        keys = [self.sheet.key(at) for at in found]
        if not found:
            return
        if self.chosen in keys:
            at = min(len(found) - 1, max(0, keys.index(self.chosen) + step))
        else:
            top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
            seen = [index for index, block in enumerate(found) if top <= self.sheet.top_of(block) < bottom]
            at = (seen or range(len(found)))[-1]
        self.chosen = keys[at]
        self._into_sight(found[at])
        self._redraw()

    def toggle(self) -> None:
        """Open the marked block, or the last one that can be opened."""
        if self.chosen is None:
            self.choose(0)
        for at in self.sheet.openable():
            if self.sheet.key(at) == self.chosen:
                self.sheet.toggle(at)
                self._measure(stick=False)
                self._into_sight(at)

    def unmark(self) -> bool:
        was, self.chosen = self.chosen, None
        self._redraw()
        return was is not None

    def on_click(self, event: events.Click) -> None:
        at = self.sheet.block_at(event.y + self.scroll_offset.y)
        if at is not None:
            self.sheet.toggle(at)
            self._measure(stick=False)

    def find(self, text: str) -> None:
        """Mark a text wherever it occurs; "" ends it."""
        self._find = text.lower()
        self._redraw(everything=True)

    # Drawing

    def on_resize(self) -> None:
        width = max(20, self.size.width - MARGIN)
        at_end, self._rows = self.at_end, self.size.height
        if width == self.sheet.width:
            self._measure(stick=at_end)
            return
        first = self.sheet.block_at(self.scroll_offset.y)
        self.sheet.resize(width)
        self._measure(stick=at_end)
        if not at_end and first is not None:
            self.scroll_to(y=self.sheet.top_of(first), animate=False, force=True)
        self._settle()

    def render_line(self, y: int) -> Strip:
        line, over = self._drawn[y] = self._content(y)
        palette = app_palette(self.app)
        mark = palette.marked if over is not None else None
        return strip_of(((" ", ""), *line), self.size.width, palette, self.rich_style, mark, self._find)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._drawn.clear()
        if self.size.height == self._rows:
            self._stuck = new_value >= self.max_scroll_y
        if self.sheet.look(self.scroll_offset.y, self.size.height):
            self._measure(stick=False)

    def _content(self, y: int) -> tuple[Line, Role | None]:
        line, key = self.sheet.line(y + self.scroll_offset.y)
        return line, "accent" if key is not None and key == self.chosen and line else None

    def _measure(self, *, stick: bool) -> None:
        """Take the page's height over; `stick`: stay at its end."""
        self.sheet.look(self.scroll_offset.y, self.size.height)
        if stick:
            self.sheet.look(self.sheet.height - self.size.height, self.size.height)
        size = Size(self.size.width, self.sheet.height)
        if size != self.virtual_size:
            self.virtual_size = size
        if stick:
            self.scroll_to(y=max(0, size.height - self.size.height), animate=False, force=True)
        self._redraw()

    def _redraw(self, *, everything: bool = False) -> None:
        if everything:
            self._drawn.clear()
            self.refresh()
            return
        for y in range(self.size.height):
            if self._drawn.get(y) != self._content(y):
                self.refresh(Region(0, y, self.size.width, 1))

    def _into_sight(self, at: int) -> None:
        top = self.sheet.top_of(at)
        if not self.scroll_offset.y <= top < self.scroll_offset.y + self.size.height - 1:
            self.scroll_to(y=max(0, top - 2), animate=False, force=True)

    def _settle(self) -> None:
        """Make all heights true, a slice at a time, between keys."""
        if not self._settling:
            self._settling = True
            self.call_later(self._settle_slice)

    def _settle_slice(self) -> None:
        self._settling = False
        at_end = self.at_end
        top = self.scroll_offset.y
        first = self.sheet.block_at(top)
        within = top - self.sheet.top_of(first) if first is not None else 0
        more = self.sheet.settle(SETTLED_AT_ONCE)
        self._measure(stick=at_end)
        if not at_end and first is not None:
            self.scroll_to(y=self.sheet.top_of(first) + within, animate=False, force=True)
        if more:
            self._settling = True
            self.set_timer(0.01, self._settle_slice)
