"""The conversation on the screen: the page, the question that waits, the composer, the line of figures.

It owns the clock that draws: events only make things dirty. Keys are decided here, in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Label

from dashboard.agent.composing.suggesting import Suggestions
from dashboard.agent.conversation.attention import Attention
from dashboard.agent.conversation.blocks import Inquiry
from dashboard.agent.paint.offers import paint_offers, paint_waiting
from dashboard.agent.paint.status import Standing, paint_status
from dashboard.agent.talk import Talk
from dashboard.agent.widgets.composer import Composer
from dashboard.agent.widgets.question import Question
from dashboard.agent.widgets.transcript import Transcript
from dashboard.widgets.fixed import FixedLines

TICKS_HZ = 12
"""How often the screen looks whether something is to be drawn."""
MOVING = ("left", "right", "up", "down", "home", "end", "pageup", "pagedown")
TWICE_S = 1.5
"""Two presses of a key within it are one sign."""


class Work(Protocol):
    """What the screen has done for it."""

    def sent(self, text: str, shown: str, *, queue: bool) -> None: ...
    def standing(self) -> Standing: ...
    def now_s(self) -> float: ...
    def typed_before(self) -> list[str]: ...
    def want_files(self) -> None: ...
    def turn_over(self) -> None: ...
    def leave(self) -> None: ...
    def waits_for_person(self) -> None: ...
    def search_typed(self) -> None: ...
    def edit_outside(self) -> None: ...
    def stop_own(self) -> bool: ...


class ConversationScreen(Screen[None]):
    AUTO_FOCUS = "#composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False, priority=True),
        Binding("ctrl+c", "clear", show=False, priority=True),
        Binding("ctrl+d", "end", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("shift+up", "scroll(-1)", show=False, priority=True),
        Binding("shift+down", "scroll(1)", show=False, priority=True),
        Binding("ctrl+home", "edge(0)", show=False, priority=True),
        Binding("ctrl+end", "edge(1)", show=False, priority=True),
        Binding("ctrl+o", "open", show=False, priority=True),
        Binding("ctrl+up", "choose(-1)", show=False, priority=True),
        Binding("ctrl+down", "choose(1)", show=False, priority=True),
        Binding("alt+up", "take_back", show=False, priority=True),
        Binding("ctrl+z", "suspend", show=False, priority=True),
        Binding("ctrl+r", "search", show=False, priority=True),
        Binding("ctrl+g", "edit_outside", show=False, priority=True),
        Binding("f2", "turn_over", show=False, priority=True),
        Binding("tab", "turn_over_or_complete", show=False, priority=True),
    ]

    def __init__(self, talk: Talk, work: Work, *, by_hand: bool = False) -> None:
        """`by_hand`: no clock draws; whoever tests calls `draw`."""
        super().__init__()
        self.talk, self.work = talk, work
        self._by_hand = by_hand
        self._dirty = True
        self._ticks = 0
        self._attention = Attention()
        self._escaped_s = self._cleared_s = float("-inf")
        self._hint = ""
        self._hint_until_s = 0.0
        self._offered: Suggestions | None = None
        self._chosen = 0
        self._inquired, self._inquired_s = "", 0.0
        """The model's question that is in sight, and since when: what was sent before is no answer."""
        self._why: Callable[[str], None] | None = None
        """Who waits for the person's reason."""

    def compose(self) -> ComposeResult:
        yield Transcript(self.talk.page, id="page")
        yield Question(id="question")
        yield FixedLines(id="above")
        with Horizontal(id="write"):
            yield Label("›", id="sign", markup=False)
            yield Composer(self.work.typed_before, id="composer")
        yield FixedLines(id="status")

    def on_mount(self) -> None:
        if not self._by_hand:
            self.set_interval(1 / TICKS_HZ, self.tick)
        self.call_after_refresh(self.draw)
        self.call_after_refresh(self.look_at_questions)

    # Drawing

    def mark_dirty(self) -> None:
        self._dirty = True

    def tick(self) -> None:
        self._ticks += 1
        if self.app.screen is not self:
            return
        if self._dirty or self._ticks % TICKS_HZ == 0 or (self.talk.runs and self._ticks % 3 == 0):
            self.draw()

    def draw(self) -> None:
        """Draw what changed."""
        if not self.is_mounted:
            return
        self._dirty = False
        if self.page.conversation is not self.talk.page:
            self.page.show(self.talk.page)
        self.page.draw()
        self.draw_status()
        self.draw_above()

    def draw_status(self) -> None:
        status = self.query_one("#status", FixedLines)
        hint = self._hint if self.work.now_s() < self._hint_until_s else "F2 waterfall  /help"
        status.show(paint_status(self.work.standing(), status.size.width - 2, hint))

    def draw_above(self) -> None:
        """What lies between page and composer: completions, else what waits."""
        above, width = self.query_one("#above", FixedLines), self.size.width - 4
        if self._offered is not None:
            lines = paint_offers(self._offered, self._chosen, width)
        else:
            running = self.talk.page.running
            lines = paint_waiting(
                [task for turn, task in self.talk.waiting if turn != running and self.talk.runs], width
            )
        if above.styles.height is None or above.styles.height.value != len(lines):
            above.styles.height = len(lines)
        above.show(*lines)

    def hint(self, text: str, seconds: float = 2.0) -> None:
        """Say something at the bottom right for a moment."""
        self._hint, self._hint_until_s = text, self.work.now_s() + seconds
        self.draw_status()

    # Questions

    def look_at_questions(self) -> None:
        """A question came or went."""
        if not self.is_mounted:
            return
        self._look_at_inquiry()
        waiting = self.talk.page.open_approvals
        question, before = self.question, self.question.approval
        question.ask(waiting[0] if waiting else None, len(waiting) - 1)
        if not waiting:
            self._attention.gone()
            self.composer.focus()
        elif before is None or before.approval_id != waiting[0].approval_id:
            self._attention.gone()
            self.work.waits_for_person()
            self.call_after_refresh(self._in_sight)
        self.draw()

    def _look_at_inquiry(self) -> None:
        """The model asked something in words, or that is over."""
        inquiry = self.talk.page.open_question
        key = inquiry.key if inquiry is not None else ""
        if key == self._inquired:
            return
        self._inquired, self._inquired_s = key, float("inf")
        self._sign()
        if key:
            self.work.waits_for_person()
            self.draw()
            self.call_after_refresh(self._inquiry_in_sight)

    def _inquiry_in_sight(self) -> None:
        self._inquired_s = self.work.now_s()

    def _sign(self) -> None:
        """What stands before the composer says where its words go."""
        self.query_one("#sign", Label).update("✎" if self._why is not None else "?" if self._inquired else "›")

    def _in_sight(self) -> None:
        """The question was drawn: from now on keys may be meant for it."""
        self.question.mark_seen()
        self._attention.showed(self.work.now_s())
        if self._why is None:
            self._wait_for_quiet()

    def _wait_for_quiet(self) -> None:
        """Take the keyboard over once the person does not type."""
        if self.question.approval is None:
            return
        quiet = self._attention.may_answer(self.work.now_s() + 0.001) and not self.composer.text
        self.question.quiet = not quiet and not self.question.has_focus
        self.question.refresh()
        if quiet:
            self.question.focus()
        elif not self.question.has_focus:
            self.set_timer(0.1, self._wait_for_quiet)

    def on_question_answered(self, event: Question.Answered) -> None:
        if event.decision is not None:
            self.talk.answer(event.approval, event.decision)
            return
        approval = event.approval

        def said(why: str) -> None:
            self.talk.answer(approval, "deny", why)

        self._why = said
        self.composer.focus()
        self._sign()
        self.hint("say why, then Enter; Esc goes back", 30)

    def _end_why(self) -> None:
        self._why = None
        self._sign()
        self.hint("", 0)

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Keys that nothing below took: those of the question, and letters that belong to the composer."""
        if self.question.has_focus:
            event.stop()
            pressed_s = event.time
            if self._attention.may_answer(pressed_s) and self.question.press(event.key):
                return
            if event.key in ("enter", *MOVING):
                return
            if event.is_printable and event.character is not None:
                self._attention.typed(self.work.now_s())
                self.composer.insert(event.character)
                self.composer.focus()
                self._wait_for_quiet()
        elif self.focused is None:
            self.composer.focus()

    def on_composer_sent(self, event: Composer.Sent) -> None:
        if self._why is not None:
            said = self._why
            self._end_why()
            said(event.text)
            return
        inquiry = self.talk.page.open_question
        if inquiry is not None and inquiry.key == self._inquired and event.time > self._inquired_s:
            self.talk.reply(inquiry.key, chosen_answer(inquiry, event.text))
            return
        self.page.to_end()
        self.work.sent(event.text, event.shown, queue=event.queue)
        self.mark_dirty()

    def on_composer_typed(self, event: Composer.Typed) -> None:
        self._attention.typed(self.work.now_s())

    def on_composer_suggested(self, event: Composer.Suggested) -> None:
        self._offered, self._chosen = event.found, event.chosen
        self.draw_above()

    def on_composer_wants_files(self, event: Composer.WantsFiles) -> None:
        self.work.want_files()

    def action_back(self) -> None:
        """Esc: out of what is laid over, else stop the turn, else (twice) write the last message anew."""
        if self.composer.offers:
            self.composer.close_offers()
        elif self._why is not None:
            self._end_why()
            self.question.focus()
        elif self.page.unmark():
            pass
        elif self.work.stop_own():
            self.hint("stopped")
        elif self.talk.stop():
            self.hint("stopping; what was done is kept")
        elif self.composer.text:
            self.hint("Ctrl-C clears")
        elif self.work.now_s() - self._escaped_s < TWICE_S:
            texts = self.work.typed_before()
            if texts:
                self.composer.put(texts[-1])
        else:
            self._escaped_s = self.work.now_s()
            self.hint("Esc again: write the last message anew")

    def action_clear(self) -> None:
        if self.composer.text:
            self.composer.clear_all()
        elif self.work.now_s() - self._cleared_s < TWICE_S:
            self.work.leave()
        else:
            self._cleared_s = self.work.now_s()
            self.hint("Ctrl-C again quits")

    def action_end(self) -> None:
        if self.composer.text:
            self.composer.action_delete_right()
        else:
            self.work.leave()

    def action_page(self, step: int) -> None:
        if self.question.has_focus and self.question.unseen:
            self.question.press("pagedown" if step > 0 else "pageup")
        else:
            self.page.page(step)

    def action_scroll(self, step: int) -> None:
        self.page.lines(step)

    def action_edge(self, end: int) -> None:
        if end:
            self.page.to_end()
        else:
            self.page.scroll_to(y=0, animate=False, force=True)

    def action_open(self) -> None:
        self.page.toggle()

    def action_choose(self, step: int) -> None:
        self.page.choose(step)

    def action_take_back(self) -> None:
        text = self.talk.take_back()
        if text is not None:
            self.composer.put(text)

    def action_suspend(self) -> None:
        """Give the terminal to the shell until it says to go on (`fg`); a turn that runs stands still as well."""
        self.app.action_suspend_process()

    def action_search(self) -> None:
        self.work.search_typed()

    def action_edit_outside(self) -> None:
        self.work.edit_outside()

    def action_turn_over(self) -> None:
        self.work.turn_over()

    async def action_turn_over_or_complete(self) -> None:
        if self.composer.offers:
            self.composer.accept_offer()
        elif self.question.approval is not None:
            (self.composer if self.question.has_focus else self.question).focus()
        elif not self.composer.text:
            self.work.turn_over()

    # Parts

    @property
    def page(self) -> Transcript:
        return self.query_one("#page", Transcript)

    @property
    def question(self) -> Question:
        return self.query_one("#question", Question)

    @property
    def composer(self) -> Composer:
        return self.query_one("#composer", Composer)


def chosen_answer(inquiry: Inquiry, text: str) -> str:
    """A number chooses an option, any other text is the answer itself."""
    number = int(text) if text.strip().isdecimal() and len(text) < 4 else 0
    return inquiry.options[number - 1] if 0 < number <= len(inquiry.options) else text
