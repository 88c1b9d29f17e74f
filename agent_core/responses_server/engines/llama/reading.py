"""A model's text, read back as deltas while it grows: reasoning, text, calls in the template's spelling. Pure.

A piece that may be the start of a mark is held back until it is known to be none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from agent_core.responses_server.engine import Delta, ItemEnd, ReasoningDelta, TextDelta, ToolCallDelta
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.json_scan import JsonScan
from agent_core.responses_server.engines.llama.call_format import CallFormat
from agent_core.responses_server.engines.llama.grammar import THINK_CLOSE, THINK_OPEN

State = Literal["start", "thinking", "text", "name", "arguments", "behind", "done"]


class Reader:
    """`tools` empty: there are no calls to be read. `thinking`: the prompt ends inside of reasoning."""

    def __init__(self, form: CallFormat, tools: FlatTools, *, thinking: bool) -> None:
        self._form, self._tools = form, tools
        self._state: State = "thinking" if thinking else "start"
        self._held = ""
        self._blank = ""
        self._trims = thinking
        self._scan = JsonScan()
        self.calls = 0
        """Calls that were read to their end."""

    @property
    def is_thinking(self) -> bool:
        return self._state == "thinking"

    @property
    def is_complete(self) -> bool:
        """Whether the text may end here: not within reasoning or a call."""
        return self._state in ("start", "text", "behind", "done")

    def feed(self, text: str) -> list[Delta]:
        """The deltas that `text` makes sure."""
        self._held += text
        deltas: list[Delta] = []
        while (step := self._step()) is not None:
            deltas += step
        return deltas

    def finish(self) -> list[Delta]:
        """What was held back, at the end of the text."""
        held, self._held = self._blank + self._held, ""
        self._blank = ""
        if not held or self._state in ("name", "arguments", "behind", "done"):
            return []
        return [ReasoningDelta(held)] if self._state == "thinking" else [TextDelta(held)]

    def _step(self) -> list[Delta] | None:
        """Deltas of one step; None where more text is needed."""
        if self._trims:
            self._held = self._held.lstrip("\n")
        if not self._held:
            return None
        self._trims = False
        match self._state:
            case "start":
                return self._start()
            case "thinking":
                return self._thinking()
            case "text":
                return self._text()
            case "name":
                return self._name()
            case "arguments":
                return self._arguments()
            case "behind":
                return self._behind()
            case "done":
                self._held = ""
                return None

    def _start(self) -> list[Delta] | None:
        """Reasoning is only looked for at the very start."""
        bare = self._held.lstrip()
        if bare.startswith(THINK_OPEN):
            self._held, self._state, self._trims = bare[len(THINK_OPEN) :], "thinking", True
            return []
        if THINK_OPEN.startswith(bare):
            return None
        self._state = "text"
        return []

    def _thinking(self) -> list[Delta] | None:
        found = self._held.find(THINK_CLOSE)
        if found < 0:
            return self._release(THINK_CLOSE, lambda text: [ReasoningDelta(text)])
        before, self._held = self._held[:found].rstrip("\n"), self._held[found + len(THINK_CLOSE) :]
        self._state, self._trims = "text", True
        return [ReasoningDelta(before)] if before else []

    def _text(self) -> list[Delta] | None:
        """Blank at the end of text belongs to the template if a call follows."""
        if not self._tools.by_name:
            text, self._held = self._held, ""
            return [TextDelta(text)]
        head = self._form.head
        found = self._held.find(head)
        if found >= 0:
            before, self._held = (self._blank + self._held[:found]).rstrip(), self._held[found + len(head) :]
            self._blank, self._state = "", "name"
            return [TextDelta(before)] if before else []
        return self._release(head, self._spoken)

    def _spoken(self, text: str) -> list[Delta]:
        whole = self._blank + text
        solid = whole.rstrip()
        self._blank = whole[len(solid) :]
        return [TextDelta(solid)] if solid else []

    def _release(self, mark: str, made: Callable[[str], list[Delta]]) -> list[Delta] | None:
        """Let go of all but a possible start of `mark`."""
        kept = _overlap(self._held, mark)
        text = self._held[: len(self._held) - kept]
        if not text:
            return None
        self._held = self._held[len(text) :]
        return made(text)

    def _name(self) -> list[Delta] | None:
        between = self._form.between
        found = self._held.find(between)
        if found < 0:
            return None
        name, self._held = self._held[:found], self._held[found + len(between) :]
        self._state, self._scan = "arguments", JsonScan()
        return [self._tools.start(name, None)]

    def _arguments(self) -> list[Delta] | None:
        size = self._scan.feed(self._held)
        if size is None:
            text, self._held = self._held, ""
            return [ToolCallDelta(text)]
        text, self._held = self._held[:size], self._held[size:]
        self._state = "behind"
        self.calls += 1
        return [ToolCallDelta(text), ItemEnd()] if text else [ItemEnd()]

    def _behind(self) -> list[Delta] | None:
        joint = self._form.joint
        if joint is not None and self._held.startswith(joint):
            self._held, self._state = self._held[len(joint) :], "name"
            return []
        if joint is not None and joint.startswith(self._held):
            return None
        self._state = "done"
        return []


def _overlap(text: str, mark: str) -> int:
    """Length of the longest end of `text` that `mark` starts with."""
    for size in range(min(len(text), len(mark) - 1), 0, -1):
        if text.endswith(mark[:size]):
            return size
    return 0
