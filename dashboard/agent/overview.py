"""The conversation turned over: where the time, the tokens and the bytes of the same session went."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from dashboard.state.fold import State
from dashboard.widgets.fixed import FixedLines, TabStrip
from dashboard.widgets.lineview import LineView
from dashboard.widgets.paint import connection, errors, raw, reuse, tokens, waterfall
from dashboard.widgets.spans import Line, Look, Page, nothing

DRAWN_HZ = 4


class Panel(msgspec.Struct, frozen=True):
    name: str
    short: str
    paint: Callable[[Look], Page]


PANELS = (
    Panel("Waterfall", "Time", waterfall.paint),
    Panel("Tokens", "Tok", tokens.paint),
    Panel("Cache & reuse", "Reuse", reuse.paint),
    Panel("Connection", "Conn", connection.paint),
    Panel("Errors", "Err", errors.paint),
    Panel("Raw", "Raw", raw.paint),
)
HINTS: Line = (
    ("F2 Esc", "accent"), (" back  ", "dim"), ("1-6", "accent"), (" panel  ", "dim"), ("[ ]", "accent"),
    (" another turn  ", "dim"), ("↑ ↓", "accent"), (" line", "dim"),
)  # fmt: skip


class Overview(Screen[None]):
    """Draws the state that the status line's figures come from. `fold` takes what came since."""

    AUTO_FOCUS = "#panel"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,tab,escape,q", "back", show=False, priority=True),
        Binding("left_square_bracket", "turn(-1)", show=False),
        Binding("right_square_bracket", "turn(1)", show=False),
        *(Binding(str(number), f"panel({number - 1})", show=False) for number in range(1, len(PANELS) + 1)),
    ]

    def __init__(
        self, state: State, fold: Callable[[], object], now_ns: Callable[[], int], titles: dict[str, str]
    ) -> None:
        """`titles` are what turns are called, by id."""
        super().__init__(classes="-back")
        self._state, self._fold, self._now_ns, self._titles = state, fold, now_ns, titles
        self._turn: str | None = None
        """None: the latest."""
        self._chosen = 0

    def compose(self) -> ComposeResult:
        yield TabStrip(tuple(each.name for each in PANELS), tuple(each.short for each in PANELS), id="tabs")
        yield LineView(id="panel")
        yield FixedLines(id="detail")
        yield FixedLines(id="hints")

    def on_mount(self) -> None:
        self.query_one(TabStrip).choose(self._chosen)
        self.set_interval(1 / DRAWN_HZ, self.draw)
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        self._fold()
        panel = self.query_one("#panel", LineView)
        turns = list(self._state.turn_ids())
        turn = self._turn if self._turn in turns else next(iter(turns), None)
        look = Look(
            state=self._state, turn=turn, now_ns=self._now_ns(), width=max(20, panel.size.width - 2),
            titles=self._titles, can_answer=False,
        )  # fmt: skip
        page = PANELS[self._chosen].paint(look) if turn is not None else nothing("No turn yet.")
        panel.show(page, (self._chosen, turn))
        self._show_detail()
        self.query_one("#hints", FixedLines).show(HINTS)

    def _show_detail(self) -> None:
        row = self.query_one("#panel", LineView).row
        self.query_one("#detail", FixedLines).show(*(row.detail if row is not None else ()))

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        self._show_detail()

    def on_tab_strip_chosen(self, event: TabStrip.Chosen) -> None:
        self.action_panel(event.tab)

    def action_panel(self, number: int) -> None:
        self._chosen = number
        self.query_one(TabStrip).choose(number)
        self.draw()

    def action_turn(self, step: int) -> None:
        turns = list(self._state.turn_ids())
        if not turns:
            return
        at = turns.index(self._turn) if self._turn in turns else 0
        self._turn = turns[min(len(turns) - 1, max(0, at - step))]
        self.draw()

    def action_back(self) -> None:
        self.dismiss(None)
