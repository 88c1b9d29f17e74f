"""The terminal dashboard put together: feed, state, control sockets, screens, themes, commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen
from textual.worker import Worker

from agent_core.clock import rfc3339
from agent_core.errors import LooplineError
from agent_core.turns.approval import Decision
from dashboard.feed import EventFeed
from dashboard.state.fold import State
from dashboard.state.format import one_line
from dashboard.tui.control import LOOK_S, ControlLink
from dashboard.tui.desk import Desk
from dashboard.tui.export import export_turns
from dashboard.tui.following import Following
from dashboard.tui.keys import KEYS, MOVING
from dashboard.tui.screens.main import MainScreen
from dashboard.tui.screens.overlays import ApprovalQuestion, CancelQuestion, CompareSheet, HelpSheet
from dashboard.tui.subjects import Subject
from dashboard.widgets.clean import CLEAN
from dashboard.widgets.palette import CYCLE, DARK, THEMES
from dashboard.widgets.spans import Row, text_of

COMPARED_TURNS = 50
MAX_TURNS = 1000
"""Ended turns that are kept with their calls; sums outlive them. More would lengthen the collector's pauses."""


def new_state() -> State:
    return State(max_turns=MAX_TURNS)


class Dashboard(App[int]):
    """Implements `work.Work` for its screens."""

    TITLE = "loopline"
    CSS_PATH = ["screens/main.tcss", "screens/overlays.tcss"]
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "quit", "Quit", show=False)]

    def __init__(
        self,
        open_feed: Callable[[int], EventFeed],
        *,
        zone: tzinfo,
        source: str = "live",
        control: ControlLink | None = None,
        new_state: Callable[[], State] = new_state,
        folder: Path | None = None,
        flush_by_hand: bool = False,
    ) -> None:
        """`open_feed` takes the days of history to read. `source` says in a word where events come from. `control`
        None: nothing can be answered or cancelled. `folder` is where exports go (None: the current one)."""
        super().__init__()
        self.desk = Desk(new_state(), zone)
        self.desk.source = source
        self.following = Following(self.desk, open_feed, new_state)
        self.control = control
        self.desk.can_answer = control is not None
        self._folder, self._by_hand = folder, flush_by_hand
        self._folding: Worker[None] | None = None
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every widget draws passes them, last of all our own."""
        return (*super().get_line_filters(), CLEAN)

    def get_default_screen(self) -> Screen[Any]:
        return MainScreen(self.desk, self, flush_by_hand=self._by_hand)

    @property
    def main(self) -> MainScreen:
        screen = self.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen

    def on_mount(self) -> None:
        self._start_folding()
        if self.control is not None:
            self.run_worker(self._look_at_hosts(self.control), group="control")

    def _start_folding(self) -> None:
        self._folding = self.run_worker(self.following.run(), group="feed", exclusive=True)

    async def _look_at_hosts(self, control: ControlLink) -> None:
        while True:
            if await control.look():
                self.desk.titles = control.titles
                self.main.mark_dirty()
            await asyncio.sleep(LOOK_S)

    # What screens have done for them

    def now_ns(self) -> int:
        return self.following.now_ns()

    def trouble(self) -> str:
        return self.following.trouble

    def tell(self, text: str, *, bad: bool = False) -> None:
        self.notify(one_line(text, 300), severity="error" if bad else "information", timeout=4, markup=False)

    def pause_replay(self, paused: bool) -> None:
        if self.following.replay is not None:
            self.following.replay.paused = paused

    def next_theme(self) -> None:
        at = CYCLE.index(self.theme) if self.theme in CYCLE else -1
        self.theme = CYCLE[(at + 1) % len(CYCLE)]

    def export_name(self) -> str:
        stamp = rfc3339(self.now_ns())[:19].replace(":", "").replace("-", "")
        return f"loopline-{stamp}.ndjson"

    def export(self, name: str, turns: Sequence[str]) -> None:
        path = (self._folder or Path.cwd()) / Path(name).expanduser()
        rollup = self.desk.state.rollup
        sessions = {row.session for turn in turns if (row := rollup.turns.get(turn)) is not None and row.session}
        write = partial(export_turns, path, self.following.feed.history(), set(turns), sessions)
        self.run_worker(self._export(path, write), group="export", exclusive=True)

    async def _export(self, path: Path, write: Callable[[], int]) -> None:
        try:
            count = await asyncio.to_thread(write)
        except LooplineError as error:
            self.tell(error.message, bad=True)
        else:
            self.tell(f"{count:,} events written to {path}")

    def copy(self, row: Row) -> None:
        text = one_line(row.copy or text_of(row.line), 20_000)
        self.copy_to_clipboard(text)
        self.tell(f"copied: {one_line(text, 80)}")

    def compare_turns(self, baseline: str, turn: str) -> None:
        desk, now_ns = self.desk, self.now_ns()
        turns = [one for one in desk.state.turn_ids() if one not in (baseline, turn)][:COMPARED_TURNS]
        subjects = [
            Subject(one, desk.turn_name(one, now_ns), partial(desk.turn_figures, one))
            for one in (baseline, turn, *turns)
        ]
        self.push_screen(CompareSheet(subjects, 0, 1))

    def compare_models(self) -> None:
        groups = self.desk.state.rollup.groups.models
        subjects = [
            Subject(model, one_line(model, 80), partial(groups.__getitem__, model)) for model in self.desk.models()
        ]
        if not subjects:
            self.tell("No model has been called yet.")
            return
        self.push_screen(CompareSheet(subjects, 0, min(1, len(subjects) - 1)))

    def approve(self, turn: str | None) -> None:
        if self.control is None:
            self.tell("Approvals can be answered for live sessions on this machine only.", bad=True)
            return
        self.run_worker(self._approve(self.control, turn), group="approve", exclusive=True)

    async def _approve(self, control: ControlLink, turn: str | None) -> None:
        await control.look()
        waiting = sorted(control.approvals.values(), key=lambda one: (one.turn_id != turn, one.opened))
        if not waiting:
            self.tell("No approval waits here.")
            return
        answer = await self.push_screen_wait(ApprovalQuestion(waiting, self._turn_title))
        if answer is not None:
            approval, decision = answer
            await self._answer(control, approval, decision)

    async def _answer(self, control: ControlLink, approval: str, decision: Decision) -> None:
        try:
            await control.answer(approval, decision)
        except LooplineError as error:
            self.tell(error.message, bad=True)
        else:
            self.tell({"allow": "Allowed.", "always": "Always allowed in that session.", "deny": "Denied."}[decision])

    def cancel(self, turn: str | None) -> None:
        if turn is None or turn not in self.desk.state.running:
            self.tell("The selected turn does not run.")
        elif self.control is None:
            self.tell("Turns of live sessions on this machine only can be cancelled.", bad=True)
        else:
            self.run_worker(self._cancel(self.control, turn), group="cancel", exclusive=True)

    async def _cancel(self, control: ControlLink, turn: str) -> None:
        if not await self.push_screen_wait(CancelQuestion(self._turn_title(turn))):
            return
        try:
            await control.look()
            await control.cancel(turn)
        except LooplineError as error:
            self.tell(error.message, bad=True)
        else:
            self.tell("Cancelled.")

    def older(self) -> None:
        if not self.following.older():
            self.tell("This feed has no older days.")
            return
        self.tell(f"Reading {self.following.days} days of history.")
        self._start_folding()

    def help(self) -> None:
        keys = [(key.shown, key.name, key.what) for key in KEYS if key.shown]
        self.push_screen(HelpSheet([*keys, *MOVING]))

    def _turn_title(self, turn: str) -> str:
        return self.desk.turn_name(turn, self.now_ns())

    # Leaving, and the palette

    async def action_quit(self) -> None:
        self.exit(0)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette offers every key's action."""
        for key in KEYS:
            run = self.action_quit if key.action == "quit" else partial(self._on_main, key.action)
            yield SystemCommand(key.name, key.what, run)

    async def _on_main(self, action: str) -> None:
        await self.main.run_action(action)
