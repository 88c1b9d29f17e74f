"""The main screen: header, turns on the left, one panel on the right, hints below.

It owns the flush: events only make things dirty, and a clock draws what is dirty. Nothing is drawn while another
screen lies over this one.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from dashboard.tui.desk import TABS, Desk
from dashboard.tui.keys import MAIN_KEYS
from dashboard.tui.work import Work
from dashboard.widgets.fixed import FixedLines, TabStrip
from dashboard.widgets.lineview import LineView
from dashboard.widgets.prompt import Prompt

TICKS_HZ = 10
"""How often the flush looks whether something is to be drawn."""
PLACES = 100
"""Panels whose selection is remembered."""
_RAW = 5


class MainScreen(Screen[None]):
    HORIZONTAL_BREAKPOINTS = [(0, "-single"), (60, "-narrow"), (100, "-wide"), (140, "-huge")]
    AUTO_FOCUS = "#turns"
    BINDINGS: ClassVar[list[BindingType]] = MAIN_KEYS

    def __init__(self, desk: Desk, work: Work, *, flush_by_hand: bool = False) -> None:
        """`flush_by_hand`: no clock draws; whoever tests calls `flush`."""
        super().__init__()
        self.desk, self.work = desk, work
        self._by_hand = flush_by_hand
        self._ticks = 0
        self._all_dirty, self._panel_dirty = True, True
        self._places: dict[object, str | None] = {}
        self._subject: object = None

    def compose(self) -> ComposeResult:
        yield FixedLines(id="header")
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield FixedLines(id="turns-title")
                yield LineView(id="turns", row_lines=2)
            with Vertical(id="right"):
                yield TabStrip(tuple(tab.name for tab in TABS), tuple(tab.short for tab in TABS), id="tabs")
                yield LineView(id="panel")
                yield FixedLines(id="detail")
        yield Prompt(id="prompt")
        yield FixedLines(id="hints")

    def on_mount(self) -> None:
        self.tabs.choose(self.desk.tab)
        if not self._by_hand:
            self.set_interval(1 / TICKS_HZ, self.tick)
        self.call_after_refresh(self.flush)

    def on_resize(self) -> None:
        self.call_after_refresh(self.flush)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self.flush)

    # Drawing

    def tick(self) -> None:
        """Ten times a second: draw what is due. The rate of the whole is the user's; the focused panel keeps up."""
        self._ticks += 1
        state = self.desk.state
        dirty = state.take_dirty()
        if self._ticks % TICKS_HZ == 0:
            state.give_up_silent(self.work.now_ns())
            state.sample_rate(self.work.now_ns())
            self._all_dirty = True  # ages and countdowns go on without events
        self._all_dirty |= bool(dirty) or bool(state.running) or self.work.trouble() != self.desk.trouble
        if TABS[self.desk.tab].of_turn:
            self._panel_dirty |= self.desk.turn in state.running or self.desk.turn in dirty.turns or dirty.everything
        else:
            self._panel_dirty |= bool(dirty)
        if self.desk.paused or self.app.screen is not self:
            return
        if self._all_dirty and self._ticks % max(1, round(TICKS_HZ / self.desk.rate_hz)) == 0:
            self.flush()
        elif self._panel_dirty and self.panel.has_focus:
            self.flush_panel()

    def mark_dirty(self) -> None:
        """Something that no event tells changed; draw it when it is due."""
        self._all_dirty = True

    def flush(self) -> None:
        """Draw everything."""
        if not self.is_mounted:
            return
        now_ns = self.work.now_ns()
        desk, header, turns = self.desk, self.query_one("#header", FixedLines), self.turns
        page = desk.turns_page(turns.size.width - 2, now_ns)
        header.show(desk.header_line(header.size.width, now_ns))
        self.query_one("#turns-title", FixedLines).show(desk.list_title())
        turns.show(page, "turns")
        if desk.turn is not None and turns.cursor != desk.turn:
            turns.select(desk.turn)
        self.flush_panel()
        self.show_hints()
        self._all_dirty = False

    def flush_panel(self) -> None:
        panel, subject = self.panel, self.desk.subject
        if subject != self._subject:
            self._places[self._subject] = panel.cursor
            while len(self._places) > PLACES:
                del self._places[next(iter(self._places))]
        panel.show(self.desk.panel_page(panel.size.width - 2, self.work.now_ns()), subject)
        if subject != self._subject:
            self._subject = subject
            place = self._places.get(subject)
            if place is not None:
                panel.select(place)
        self.show_detail()
        self._panel_dirty = False

    def show_detail(self) -> None:
        row = self.panel.row
        self.query_one("#detail", FixedLines).show(*(row.detail if row is not None else ()))

    def show_hints(self) -> None:
        self.desk.trouble = self.work.trouble()
        hints = self.query_one("#hints", FixedLines)
        hints.show(self.desk.hints(hints.size.width))

    # Moving about

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        if event.view.id == "turns":
            self.desk.follow = False
            self.desk.turn = event.view.cursor
            self.flush()
        else:
            self.show_detail()

    def on_line_view_opened(self, event: LineView.Opened) -> None:
        if event.view.id == "turns":
            self.action_to_panel()

    def on_tab_strip_chosen(self, event: TabStrip.Chosen) -> None:
        self.action_tab(event.tab)

    def action_tab(self, tab: int) -> None:
        self.desk.tab = tab
        self.tabs.choose(tab)
        self.add_class("-opened")
        if not self.left_is_shown:
            self.panel.focus()
        self.call_after_refresh(self.flush_panel)

    def action_to_panel(self) -> None:
        self.add_class("-opened")
        self.panel.focus()
        self.call_after_refresh(self.flush_panel)

    def action_to_turns(self) -> None:
        self.remove_class("-opened")
        self.turns.focus()
        self.call_after_refresh(self.flush)

    def action_back(self) -> None:
        """Step back: from the panel to the turns, then out of search, filter and comparison."""
        if self.panel.has_focus:
            self.panel.find("")
            self.action_to_turns()
            return
        self.desk.filter = self.desk.raw_types = ""
        self.desk.baseline = None
        self.flush()

    # Choosing

    def action_follow(self) -> None:
        self.desk.follow = not self.desk.follow
        self.flush()

    def action_pause(self) -> None:
        self.desk.paused = not self.desk.paused
        self.work.pause_replay(self.desk.paused)
        self.show_hints()
        if not self.desk.paused:
            self.flush()

    def action_rate(self, step: int) -> None:
        self.desk.change_rate(step)
        self.show_hints()

    def action_theme(self) -> None:
        self.work.next_theme()

    def action_filter(self) -> None:
        if self.panel.has_focus and self.desk.tab == _RAW:
            self.prompt.ask("raw", "events with", self.desk.raw_types)
        else:
            self.prompt.ask("filter", "filter", self.desk.filter)

    def action_search(self) -> None:
        self.prompt.ask("search", "search")

    def action_find(self, step: int) -> None:
        self.panel.find_next(step)

    def action_export(self) -> None:
        count = len(self.desk.listed(self.work.now_ns()))
        self.prompt.ask("export", f"export {count} turn{'' if count == 1 else 's'} to", self.work.export_name())

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        if event.purpose == "filter":
            self.desk.filter = event.text
            self.flush()
        elif event.purpose == "raw":
            self.desk.raw_types = event.text
            self.flush_panel()

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        match event.purpose, event.text:
            case "filter", text:
                self.desk.filter = text or ""
            case "raw", text:
                self.desk.raw_types = text or ""
            case "search", text:
                self.panel.find(text or "")
            case "export", str(text) if text.strip():
                self.work.export(text.strip(), self.desk.listed(self.work.now_ns()))
        (self.panel if event.purpose in ("raw", "search") else self.turns).focus()
        self.flush()

    # Doing

    def action_copy(self) -> None:
        view = self.panel if self.panel.has_focus else self.turns
        if view.row is not None:
            self.work.copy(view.row)

    def action_compare(self) -> None:
        desk = self.desk
        if desk.turn is None:
            return
        if desk.baseline is None or desk.baseline == desk.turn:
            desk.baseline = desk.turn
            self.work.tell("Marked. Select another turn and press c again; Esc forgets the mark.")
            return
        self.work.compare_turns(desk.baseline, desk.turn)

    def action_compare_models(self) -> None:
        self.work.compare_models()

    def action_approve(self) -> None:
        self.work.approve(self.desk.turn)

    def action_cancel(self) -> None:
        self.work.cancel(self.desk.turn)

    def action_older(self) -> None:
        self.work.older()

    def action_help(self) -> None:
        self.work.help()

    # Parts

    @property
    def left_is_shown(self) -> bool:
        return self.query_one("#left").display

    @property
    def turns(self) -> LineView:
        return self.query_one("#turns", LineView)

    @property
    def panel(self) -> LineView:
        return self.query_one("#panel", LineView)

    @property
    def tabs(self) -> TabStrip:
        return self.query_one("#tabs", TabStrip)

    @property
    def prompt(self) -> Prompt:
        return self.query_one("#prompt", Prompt)
