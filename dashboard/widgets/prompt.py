"""One line at the bottom that asks for a text: a filter, a search, a file name."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label


class Prompt(Horizontal):
    """Hidden until it asks. Says `Typed` as the text changes, then `Answered` once: with the text, or None for Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "Cancel", show=False)]

    class Typed(Message):
        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose, self.text = purpose, text

    class Answered(Message):
        def __init__(self, purpose: str, text: str | None) -> None:
            super().__init__()
            self.purpose, self.text = purpose, text

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._purpose = ""

    def compose(self) -> ComposeResult:
        yield Label("", id="prompt-label", markup=False)
        yield Input(id="prompt-input", compact=True, select_on_focus=False)

    @property
    def asking(self) -> bool:
        return self.has_class("-asking")

    def ask(self, purpose: str, label: str, text: str = "") -> None:
        self._purpose = purpose
        self.query_one(Label).update(label)
        field = self.query_one(Input)
        field.cursor_blink = False
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        self.add_class("-asking")
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.asking:
            self.post_message(self.Typed(self._purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._done(event.value)

    def action_give_up(self) -> None:
        self._done(None)

    def _done(self, text: str | None) -> None:
        self.remove_class("-asking")
        self.post_message(self.Answered(self._purpose, text))
