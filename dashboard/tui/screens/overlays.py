"""What is laid over the main screen: a page (help, comparison) and questions (approval, cancel). Esc leaves each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from agent_core.turns.approval import Approval, Decision
from dashboard.tui.subjects import Subject
from dashboard.widgets.fixed import FixedLines
from dashboard.widgets.lineview import LineView
from dashboard.widgets.paint import compare, help, questions
from dashboard.widgets.spans import Line, Page, Row


class Sheet(ModalScreen[None]):
    """A page that scrolls, under a title, over hints."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "Back", show=False)]
    title_line: Line = ()
    hints: Line = ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            yield FixedLines(id="sheet-title")
            yield LineView(id="sheet-page")
            yield FixedLines(id="sheet-hints")

    def on_mount(self) -> None:
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        view = self.query_one("#sheet-page", LineView)
        self.query_one("#sheet-title", FixedLines).show(self.title_line)
        self.query_one("#sheet-hints", FixedLines).show(self.hints)
        view.show(self.page(view.size.width - 2), type(self))

    def page(self, width: int) -> Page:
        raise NotImplementedError


class HelpSheet(Sheet):
    title_line = (("loopline tui", "strong"), ("  keys, signs and formulas", "dim"))
    hints = (("↑ ↓", "accent"), (" scroll  ", "dim"), ("Esc", "accent"), (" back", "dim"))

    def __init__(self, keys: Sequence[tuple[str, str, str]]) -> None:
        super().__init__()
        self._keys = keys

    def page(self, width: int) -> Page:
        return help.paint(self._keys, width)


class CompareSheet(Sheet):
    """Two of several subjects. B goes through them with the arrows, A with shift."""

    title_line = (("Comparison", "strong"), ("  B against A", "dim"))
    hints = (
        ("← →", "accent"), (" another B  ", "dim"), ("[ ]", "accent"), (" another A  ", "dim"), ("w", "accent"),
        (" swap  ", "dim"), ("Esc", "accent"), (" back", "dim"),
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "change(0,-1)", "Another B", show=False),
        Binding("right,l", "change(0,1)", "Another B", show=False),
        Binding("left_square_bracket", "change(1,-1)", "Another A", show=False),
        Binding("right_square_bracket", "change(1,1)", "Another A", show=False),
        Binding("w", "swap", "Swap", show=False),
    ]

    def __init__(self, subjects: Sequence[Subject], a: int, b: int) -> None:
        super().__init__()
        self._subjects, self._a, self._b = subjects, a, b

    def page(self, width: int) -> Page:
        a, b = self._subjects[self._a], self._subjects[self._b]
        return compare.paint(a.name, b.name, a.figures(), b.figures(), width)

    def action_change(self, of_a: int, step: int) -> None:
        count = len(self._subjects)
        if of_a:
            self._a = (self._a + step) % count
        else:
            self._b = (self._b + step) % count
        self.draw()

    def action_swap(self) -> None:
        self._a, self._b = self._b, self._a
        self.draw()


class ApprovalQuestion(ModalScreen[tuple[str, Decision] | None]):
    """Asks about one of several open approvals; gives its id and the answer, None for "not now".

    There is no key that answers by accident: Enter does nothing. What is asked can be read whole.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('allow')", "Allow", show=False),
        Binding("w", "answer('always')", "Always", show=False),
        Binding("n", "answer('deny')", "Deny", show=False),
        Binding("right,l", "next(1)", "Next", show=False),
        Binding("left,h", "next(-1)", "Previous", show=False),
        Binding("escape", "dismiss", "Not now", show=False),
    ]

    def __init__(self, approvals: Sequence[Approval], title_of: Callable[[str], str]) -> None:
        super().__init__()
        self._approvals, self._title_of = approvals, title_of
        self._at = 0

    def compose(self) -> ComposeResult:
        with Vertical(classes="question"):
            yield FixedLines(id="question-head")
            yield LineView(id="question-subject")
            yield FixedLines(id="question-keys")

    def on_mount(self) -> None:
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        one = self._approvals[self._at]
        place = f"{self._at + 1} of {len(self._approvals)}"
        self.query_one("#question-head", FixedLines).show(*questions.head(one, self._title_of(one.turn_id), place))
        view = self.query_one("#question-subject", LineView)
        subject = questions.subject(one, view.size.width - 2)
        view.styles.height = max(1, min(len(subject), self.size.height - 14))
        view.show(Page(rows=[Row(line) for line in subject]), one.approval_id)
        scrolls = len(subject) > self.size.height - 14
        self.query_one("#question-keys", FixedLines).show((), questions.keys(scrolls, len(self._approvals) > 1))

    def action_next(self, step: int) -> None:
        self._at = (self._at + step) % len(self._approvals)
        self.draw()

    def action_answer(self, decision: Decision) -> None:
        self.dismiss((self._approvals[self._at].approval_id, decision))


class CancelQuestion(ModalScreen[bool]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,x", "answer(True)", "Cancel the turn", show=False),
        Binding("n,escape", "answer(False)", "Let it run", show=False),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(classes="question"):
            yield FixedLines(id="question-text")

    def on_mount(self) -> None:
        text = self.query_one("#question-text", FixedLines)
        self.call_after_refresh(lambda: text.show(*questions.cancel(self._title, text.size.width - 2)))

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
