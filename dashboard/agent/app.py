"""The interactive session put together: desk of sessions, talk, screens, themes, commands."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from agent_core.clock import Clock
from agent_core.config.paths import state_dir
from agent_core.errors import LooplineError
from agent_core.variables import variables
from dashboard.agent.composing.commands import COMMANDS, command_of, kind_of
from dashboard.agent.paint.status import Standing
from dashboard.agent.screen import ConversationScreen
from dashboard.agent.sessions.options import AgentOptions
from dashboard.agent.sessions.typed import TypedBefore
from dashboard.agent.sheets import Choice, LeaveSheet, PickSheet
from dashboard.agent.talk import Talk
from dashboard.widgets.clean import CLEAN
from dashboard.widgets.palette import CYCLE, DARK, THEMES

if TYPE_CHECKING:
    from agent_core.config.settings import Notify
    from dashboard.agent.doing import Doing
    from dashboard.agent.figures import SessionFigures
    from dashboard.agent.sessions.desk import Opened, SessionDesk

CLOSE_S = 10.0
"""How long sessions may take to close."""


class AgentApp(App[int]):
    """Implements `screen.Work`. What it costs to host a session is loaded after the first picture."""

    TITLE = "loopline"
    CSS_PATH = [Path(__file__).with_name("screens.tcss")]
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "leave", show=False, priority=True)]

    def __init__(self, options: AgentOptions, *, root: Path, clock: Clock, by_hand: bool = False) -> None:
        super().__init__()
        self.options, self.root, self.clock = options, root, clock
        self.talk = Talk(clock, self._changed, self._asked)
        self.talk.options = options.of_turn
        self.conversation = ConversationScreen(self.talk, self, by_hand=by_hand)
        self.desk: SessionDesk | None = None
        self.figures: SessionFigures | None = None
        self.doing: Doing | None = None
        self.settled = Standing(model=str(options.flags.get("model") or ""))
        """What of the standing only settings and folder say."""
        self.failure: BaseException | None = None
        """What ended the program that should not have happened."""
        self.stays: str | None = None
        """Id of the session that is to go on once the terminal is given back."""
        self.notify_by: Notify = "auto"
        """How it is told that something is asked; the settings say it."""
        self.in_front = True
        """Whether the terminal has the keyboard, as far as it tells."""
        self._typed = TypedBefore(state_dir(variables()), root)
        self._leaving = False
        self._on_loop: Callable[[Callable[[], object]], object] = lambda do: do()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = options.theme or DARK

    # Textual

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every widget draws passes them, last of all our own."""
        return (*super().get_line_filters(), CLEAN)

    def get_default_screen(self) -> Screen[Any]:
        return self.conversation

    def on_mount(self) -> None:
        self._on_loop = asyncio.get_running_loop().call_soon_threadsafe
        self.app_resume_signal.subscribe(self, self._came_back)
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self.run_worker(self._open(), group="open", exclusive=True, exit_on_error=True)

    def _came_back(self, app: App[Any]) -> None:
        """From the shell, which wrote over everything."""
        self.refresh(layout=True)

    def on_app_focus(self) -> None:
        self.in_front = True

    def on_app_blur(self) -> None:
        self.in_front = False

    def _fatal_error(self) -> None:
        """No picture of the error on the screen, which would show what variables held: it is raised again once the
        terminal is given back."""
        self.failure = self._exception
        self._close_messages_no_wait()

    # Sessions

    async def _open(self) -> None:
        """Load what hosts sessions, then take up the one that is asked for."""
        doing = await asyncio.to_thread(importlib.import_module, "dashboard.agent.doing")
        self.doing = doing.Doing(self)
        self.doing.start()
        self.figures, self.desk = self.doing.figures, self.doing.desk
        await self.doing.begin()

    def show(self, opened: Opened) -> None:
        """Take a session up."""
        assert self.figures is not None
        self.talk.begin(opened, self.figures)

    def in_background(self, work: Awaitable[object], group: str) -> None:
        """Run something; what is wrong with it is said on the page."""
        self.run_worker(self._told(work), group=group)

    async def _told(self, work: Awaitable[object]) -> None:
        try:
            await work
        except LooplineError as error:
            self.say_wrong(error)

    def say_wrong(self, error: LooplineError) -> None:
        self.talk.page.note(error.message + (f" ({error.hint})" if error.hint else ""), "error")
        self._changed()

    def note(self, text: str) -> None:
        self.talk.page.note(text)
        self._changed()

    async def choose(self, sheet: Any) -> Any:
        """What the person chose on a sheet; called in a worker."""
        return await self.push_screen_wait(sheet)

    def redraw(self) -> None:
        self.refresh()

    def _changed(self) -> None:
        self.conversation.mark_dirty()

    def _asked(self) -> None:
        self.conversation.look_at_questions()

    # What the screen has done for it

    def sent(self, text: str, shown: str, *, queue: bool) -> None:
        self._typed.add(text if len(text) < len(shown) + 200 else shown)
        kind = kind_of(text, shown)
        try:
            command = command_of(text) if kind == "command" else None
        except LooplineError as error:
            self.say_wrong(error)
            return
        if command is not None:
            self.run_command(*command)
        elif kind == "own":
            self._when_ready(lambda doing: doing.own_command(text[1:].strip()))
        elif kind == "folded":
            self.note("a command runs as it stands here, so it can hold no paste that is folded")
        else:
            self.talk.say(text, shown, queue=queue)

    def run_command(self, command: Any, argument: str) -> None:
        if command.name == "quit":
            self.leave()
        elif command.name == "theme":
            self.change_theme(argument)
        else:
            self._when_ready(lambda doing: doing.command(command.name, argument))

    def _when_ready(self, do: Callable[[Doing], None]) -> None:
        if self.doing is None:
            self.conversation.hint("one moment: still starting")
        else:
            do(self.doing)

    def change_theme(self, name: str) -> None:
        known = {each.removeprefix("loopline-"): each for each in CYCLE} | {each: each for each in CYCLE}
        at = CYCLE.index(self.theme) if self.theme in CYCLE else -1
        if name and name not in known:
            self.note(f"themes: {', '.join(each.removeprefix('loopline-') for each in CYCLE)}")
            return
        self.theme = known[name] if name else CYCLE[(at + 1) % len(CYCLE)]

    def standing(self) -> Standing:
        settled = self.settled
        model = self.talk.model or settled.model
        if self.talk.note:
            model = f"{model} (no model)"
        host = self.talk.host
        doing = "● works" if self.talk.runs else ""
        if self.talk.page.open_approvals or self.talk.page.open_question is not None:
            doing = "? asks you"
        if host is None or self.figures is None:
            return msgspec.structs.replace(settled, model=model, doing=doing or "… starting")
        self.figures.fold()
        now, size = self.figures.standing(host.id, self.clock.wall_ns()), self.talk.size
        return msgspec.structs.replace(
            now,
            model=model,
            approve=settled.approve,
            effort=settled.effort,
            mode=settled.mode,
            branch=settled.branch,
            context_tokens=size.tokens if size is not None else now.context_tokens,
            context_size=(size.window_tokens if size is not None else None) or settled.context_size,
            place=host.view().place,
            doing=doing,
        )

    def now_s(self) -> float:
        return monotonic()

    def typed_before(self) -> list[str]:
        return list(self._typed.texts)

    def want_files(self) -> None:
        if self.doing is not None:
            self.doing.want_files()

    def turn_over(self) -> None:
        """Show where the time of the session's turns went, on the back of the conversation."""
        if self.figures is None:
            self.conversation.hint("one moment: still starting")
            return
        from dashboard.agent.overview import Overview

        figures, titles = self.figures, self.talk.page.titles()
        self.push_screen(Overview(figures.state, figures.fold, self.clock.wall_ns, titles))

    def search_typed(self) -> None:
        """Choose among what was written before."""
        texts = self._typed.search("")
        self.push_screen(
            PickSheet("Written before", [Choice(text, text) for text in texts], "nothing yet"), self._chosen
        )

    def _chosen(self, text: str | None) -> None:
        if text is not None:
            self.conversation.composer.put(text)

    def edit_outside(self) -> None:
        self._when_ready(lambda doing: doing.edit_outside())

    def stop_own(self) -> bool:
        return self.doing is not None and self.doing.stop_own()

    def waits_for_person(self) -> None:
        """A question came: show it, and ring where the terminal is not in front."""
        if self.screen.has_class("-back"):
            self.screen.dismiss(None)
        if not self.in_front and self.notify_by != "off":
            self.bell()
            if self.notify_by == "auto":
                self.notify_desktop("Loopline asks you something")

    def notify_desktop(self, text: str) -> None:
        """OSC 9, which terminals that know it show as a notification and others leave alone. The text is ours."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(f"\x1b]9;{text}\x07")
            self._driver.flush()

    # Leaving, and the palette

    def leave(self) -> None:
        """Quit; ask first while a turn runs here."""
        if self.talk.runs and self.talk.is_here and self.screen is self.conversation:
            self.push_screen(LeaveSheet(self.now_s), self._left)
        else:
            self.end(0)

    def _left(self, how: str | None) -> None:
        if how == "stop":
            self.end(0)
        elif how == "stay" and self.talk.host is not None and not self._leaving:
            self._leaving = True
            self.stays = self.talk.host.id
            self.talk.leave()
            self.exit(0)

    def end(self, code: int) -> None:
        """Close everything in order, then exit."""
        if self._leaving:
            return
        self._leaving = True
        self.run_worker(self._end(code), group="end")

    def end_from_signal(self, code: int) -> None:
        """`end`, from a signal's handler: the loop may be asleep."""
        self._on_loop(partial(self.end, code))

    async def _end(self, code: int) -> None:
        try:
            if self.doing is not None:
                async with asyncio.timeout(CLOSE_S):
                    await self.doing.close()
        except TimeoutError:
            pass
        finally:
            self.exit(code)

    def action_leave(self) -> None:
        self.leave()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette offers every command."""
        for command in COMMANDS:
            yield SystemCommand(f"/{command.name}", command.what, partial(self._from_palette, command))

    def _from_palette(self, command: Any) -> None:
        if command.argument and not command.argument.startswith("["):
            self.conversation.composer.put(f"/{command.name} ")
        else:
            self.run_command(command, "")
