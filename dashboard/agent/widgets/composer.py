"""Where the person writes: several lines, history, chips for long pastes, completion at the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from dashboard.agent.composing.chips import Chips
from dashboard.agent.composing.suggesting import Suggestions, suggest, wants_files
from dashboard.state.format import clean

MAX_LINES = 10
"""Lines that are in sight; more scroll."""


class Composer(TextArea):
    """Says `Sent` when the person is done. Owns the chips and the place in the history."""

    class Sent(Message):
        """`text` is all that was written, `shown` the same with chips; `queue`: for after the turn that runs."""

        def __init__(self, text: str, shown: str, *, queue: bool) -> None:
            super().__init__()
            self.text, self.shown, self.queue = text, shown, queue

    class Suggested(Message):
        """What could stand at the cursor changed; None: nothing."""

        def __init__(self, found: Suggestions | None, chosen: int) -> None:
            super().__init__()
            self.found, self.chosen = found, chosen

    class Typed(Message):
        """A key was pressed here."""

    class WantsFiles(Message):
        """The person begins to name a file."""

    def __init__(self, typed_before: Callable[[], Sequence[str]], *, id: str) -> None:
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
            tab_behavior="focus",
        )
        self.cursor_blink = False
        self.chips = Chips()
        self.files: Sequence[str] = ()
        self._typed_before = typed_before
        self._at: int | None = None
        """Place in the history while it is leafed through."""
        self._draft = ""
        self._found: Suggestions | None = None
        self._chosen = 0
        self._closed_for = ""

    # What it holds

    def put(self, text: str) -> None:
        """Replace what is written, cursor at the end."""
        self.load_text(clean(text))
        self.move_cursor(self.document.end)
        self._at = None

    def clear_all(self) -> None:
        self.load_text("")
        self.chips.clear()
        self._at = None
        self._offer()

    @property
    def offers(self) -> bool:
        """Whether completions are shown."""
        return self._found is not None

    def close_offers(self) -> None:
        self._closed_for = self.text
        self._offer()

    def offer_again(self) -> None:
        """What may be offered changed."""
        self._offer()

    # Keys

    async def _on_key(self, event: events.Key) -> None:
        self.post_message(self.Typed())
        handled = True
        match event.key:
            case "enter" if self.offers and self._completes():
                self.accept_offer()
            case "enter" if self._continues():
                self.action_delete_left()
                self.insert("\n")
            case "enter":
                self._send(queue=False)
            case "alt+enter":
                self._send(queue=True)
            case "ctrl+underscore":
                self.action_undo()
            case "ctrl+j" | "shift+enter":
                self.insert("\n")
            case "up" if self.offers:
                self._move(-1)
            case "down" if self.offers:
                self._move(1)
            case "up" if self.cursor_location[0] == 0 and self.cursor_at_first_line:
                self._leaf(-1)
            case "down" if self._at is not None and self.cursor_at_last_line:
                self._leaf(1)
            case "backspace" if self._chip_before() is not None and self.selection.is_empty:
                self._delete_chip()
            case _:
                handled = False
        if handled:
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")  # which is how terminals send a line's end
        self.insert(self.chips.shown(clean(text)))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._offer()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._offer()

    def _send(self, *, queue: bool) -> None:
        shown = self.text
        if not shown.strip():
            return
        text = self.chips.whole(shown)
        self.clear_all()
        self.post_message(self.Sent(text, shown, queue=queue))

    def _continues(self) -> bool:
        """A backslash before Enter asks for another line."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        return column == len(line) and line.endswith("\\") and not line.endswith("\\\\")

    # Chips

    def _chip_before(self) -> int | None:
        row, column = self.cursor_location
        return self.chips.ending_at(self.document.get_line(row), column)

    def _delete_chip(self) -> None:
        row, column = self.cursor_location
        start = self._chip_before()
        assert start is not None
        self.delete((row, start), (row, column))

    # History

    def _leaf(self, step: int) -> None:
        texts = self._typed_before()
        if not texts:
            return
        if self._at is None:
            if step > 0:
                return
            self._draft, at = self.text, len(texts)
        else:
            at = self._at
        at = max(0, at + step)
        if at >= len(texts):
            self.put(self._draft)
            return
        self.put(texts[at])
        self._at = at

    # Completion

    def _offer(self) -> None:
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if wants_files(line, column):
            self.post_message(self.WantsFiles())
        found = None
        if self.text != self._closed_for:
            self._closed_for = ""
            found = suggest(line, column, first_line=row == 0, files=self.files)
        if found != self._found:
            self._chosen = 0
        self._found = found
        self.post_message(self.Suggested(found, self._chosen))

    def _move(self, step: int) -> None:
        assert self._found is not None
        self._chosen = (self._chosen + step) % len(self._found.items)
        self.post_message(self.Suggested(self._found, self._chosen))

    def _completes(self) -> bool:
        """Whether Enter completes: a command that is written out is sent."""
        found = self._found
        if found is None:
            return False
        row, column = self.cursor_location
        written = self.document.get_line(row)[found.start : column].rstrip()
        return not any(item.insert.rstrip() == written for item in found.items)

    def accept_offer(self) -> None:
        """Write what is chosen."""
        found = self._found
        assert found is not None
        row, column = self.cursor_location
        self.replace(found.items[self._chosen].insert, (row, found.start), (row, column))
