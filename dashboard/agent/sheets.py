"""What is laid over the conversation: a list to choose from, and a question before leaving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from dashboard.state.format import one_line
from dashboard.widgets.fixed import FixedLines
from dashboard.widgets.lineview import LineView
from dashboard.widgets.spans import Line, Page, Row


class Choice(msgspec.Struct, frozen=True):
    """`value` is what choosing it gives; `shown` and `what` are foreign text."""

    value: str
    shown: str
    what: str = ""


class PickSheet(ModalScreen[str | None]):
    """A list that typing makes shorter; Enter takes the marked one, Esc none."""

    AUTO_FOCUS = "#pick"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "none", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("enter", "take", show=False, priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], empty: str) -> None:
        super().__init__()
        self._title, self._choices, self._empty = title, choices, empty

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            yield FixedLines(id="sheet-title")
            yield Input(id="pick", compact=True, placeholder="type to search")
            yield LineView(id="sheet-page")
            yield FixedLines(id="sheet-hints")

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.draw()

    def draw(self) -> None:
        title, hints = self.query_one("#sheet-title", FixedLines), self.query_one("#sheet-hints", FixedLines)
        title.show(((self._title, "strong"),))
        hints.show((("↑ ↓ ", "accent"), ("mark  ", "dim"), ("Enter ", "accent"), ("take  ", "dim"), ("Esc", "accent")))
        found = matching(self._choices, self.query_one(Input).value)
        rows = [Row(_line(choice), key=str(self._choices.index(choice))) for choice in found]
        page = Page(rows=rows or [Row(((self._empty if not self._choices else "nothing fits", "dim"),))])
        self._view.show(page, self.query_one(Input).value)

    def action_move(self, step: int) -> None:
        self._view.action_move(step)

    def action_page(self, step: int) -> None:
        self._view.action_page(step)

    def action_none(self) -> None:
        self.dismiss(None)

    def action_take(self) -> None:
        row = self._view.row
        self.dismiss(self._choices[int(row.key)].value if row is not None and row.key is not None else None)

    @property
    def _view(self) -> LineView:
        return self.query_one("#sheet-page", LineView)


class LeaveSheet(ModalScreen[str]):
    """A turn runs: leave all the same? `stop`, `stay` (it goes on without a terminal), or "": no."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._shown_s, self._now_s = float("inf"), now

    def compose(self) -> ComposeResult:
        with Vertical(classes="small"):
            yield FixedLines(id="leave-text")

    def on_mount(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        self._shown_s = self._now_s()
        self.query_one("#leave-text", FixedLines).show(
            (("A turn runs.", "strong"),),
            (("s ", "accent"), ("stop it and quit; what was done is kept", "")),
            (("b ", "accent"), ("quit, and let it go on in the background", "")),
            (("Esc ", "accent"), ("stay", "")),
        )

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.time <= self._shown_s:
            return
        if event.key in ("s", "ctrl+c", "ctrl+d"):
            self.dismiss("stop")
        elif event.key == "b":
            self.dismiss("stay")
        elif event.key == "escape":
            self.dismiss("")


def matching(choices: Sequence[Choice], words: str) -> list[Choice]:
    """Those that hold every word, in their order."""
    wanted = words.casefold().split()
    return [each for each in choices if all(word in f"{each.shown} {each.what}".casefold() for word in wanted)]


def _line(choice: Choice) -> Line:
    return ((one_line(choice.shown, 300), ""), (f"  {one_line(choice.what, 100)}" if choice.what else "", "dim"))
