"""The question that waits for the person: under the page, above the composer."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_core.turns.approval import Approval, Decision
from dashboard.agent.paint.question import answers, paint_body, paint_keys
from dashboard.widgets.spans import Line, crop
from dashboard.widgets.strips import app_palette, strip_of

KEYS_AND_BORDER = 2
"""Lines besides those of what is asked."""
SHARE = 0.5
"""Of the screen's height that it takes at most; what is longer scrolls."""


class Question(Widget, can_focus=True):
    """Hidden while nothing is asked. Says `Answered` once; whether a key may answer is the screen's to say."""

    class Answered(Message):
        """`decision` None: denied, and the person says why."""

        def __init__(self, approval: Approval, decision: Decision | None) -> None:
            super().__init__()
            self.approval, self.decision = approval, decision

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.approval: Approval | None = None
        self.quiet = False
        """Keys do not count yet."""
        self._more = 0
        self._chosen = 0
        self._body: list[Line] = []
        self._top = 0
        self._seen = 0

    def ask(self, approval: Approval | None, more: int = 0) -> None:
        """Show what is asked; None: nothing is."""
        if approval is None or self.approval is None or approval.approval_id != self.approval.approval_id:
            self._chosen = self._top = self._seen = 0
        self.approval, self._more = approval, more
        self.set_class(approval is not None, "-asking")
        self.lay_out()

    def lay_out(self) -> None:
        if self.approval is None:
            return
        width = max(20, self.app.size.width - 2)
        self._body = paint_body(self.approval, width, self._more)
        room = max(3, int(self.app.size.height * SHARE) - KEYS_AND_BORDER)
        height = min(len(self._body), room)
        self.styles.height = height + KEYS_AND_BORDER
        self._top = min(self._top, max(0, len(self._body) - height))
        self.refresh()

    def mark_seen(self) -> None:
        """What is in sight now was drawn."""
        self._seen = max(self._seen, self._top + max(0, self.size.height - 1))
        self.refresh()

    @property
    def unseen(self) -> int:
        """Lines of what is asked that were never in sight."""
        return max(0, len(self._body) - self._seen)

    def press(self, key: str) -> bool:
        """Take a key that counts; False if it means nothing here."""
        approval = self.approval
        if approval is None:
            return False
        offered = answers(approval)
        match key:
            case "left" | "shift+tab":
                self._choose(-1, len(offered))
            case "right":
                self._choose(1, len(offered))
            case "up" | "pageup":
                self._scroll(-1 if key == "up" else -self.size.height + 2)
            case "down" | "pagedown":
                self._scroll(1 if key == "down" else self.size.height - 2)
            case "home" | "end":
                self._scroll(len(self._body) if key == "end" else -len(self._body))
            case "enter":
                self._answer(offered[self._chosen].name)
            case _:
                found = next((answer for answer in offered if answer.key == key), None)
                if found is None:
                    return False
                self._answer(found.name)
        return True

    def on_resize(self) -> None:
        self.lay_out()
        self.call_after_refresh(self.mark_seen)

    def on_focus(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        self.focus()

    def render_line(self, y: int) -> Strip:
        palette, width = app_palette(self.app), self.size.width
        line: Line = ()
        if self.approval is not None:
            if y == self.size.height - 1:
                line = paint_keys(self.approval, self._chosen, width - 2, unseen=self.unseen, quiet=self.quiet)
            elif self._top + y < len(self._body):
                line = self._body[self._top + y]
        return strip_of(((" ", ""), *crop(line, width - 2)), width, palette, self.rich_style)

    def _choose(self, step: int, count: int) -> None:
        self._chosen = (self._chosen + step) % count
        self.refresh()

    def _scroll(self, step: int) -> None:
        height = self.size.height - 1
        self._top = min(max(0, self._top + step), max(0, len(self._body) - height))
        self.mark_seen()

    def _answer(self, name: str) -> None:
        approval = self.approval
        assert approval is not None
        if self.unseen and name in ("allow", "always"):
            self._scroll(self.size.height - 2)
            return
        decision: dict[str, Decision | None] = {"allow": "allow", "always": "always", "deny": "deny", "why": None}
        self.post_message(self.Answered(approval, decision[name]))
