"""What the classifiers of texts share: they look at the texts of items, in slices, until something was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_core.responses_server.screening.port import ALLOWED, Action, Verdict
from agent_core.responses_server.slices import Slices
from agent_core.wire.items import text_of

SLICE_CHARS = 4_000
"""Characters that are looked at before others get their turn: some hundredths of a millisecond for texts as they are,
one or two for those that are made to take long."""
ITEM_CHARS = 100
"""What an item costs besides its text, in characters."""
OVERLAP_CHARS = 512
"""How far a slice reaches into the next one; longer than anything that has to be seen whole."""


class TextClassifier:
    """Its state is its verdict. A text is cut at fixed places, so what is found in it depends on nothing else."""

    name = ""
    code = ""

    def __init__(self, action: Action = Action.FLAG) -> None:
        self._action = action

    def initial(self) -> Verdict:
        return ALLOWED

    def screen(self, state: Verdict, items: Sequence[Any]) -> Slices[tuple[Verdict, Verdict]]:
        left = SLICE_CHARS
        for item in items:
            if state is not ALLOWED:
                break
            if not self.concerns(item):
                continue
            text = text_of(item)
            left -= ITEM_CHARS
            if left <= 0:
                yield
                left = SLICE_CHARS
            for start in range(0, len(text), SLICE_CHARS):
                found = self.find(text[start : start + SLICE_CHARS + OVERLAP_CHARS])
                if found is not None:
                    state = Verdict(self._action, self.code, f"The input holds {found}.")
                    break
                left -= min(SLICE_CHARS, len(text) - start)
                if left <= 0:
                    yield
                    left = SLICE_CHARS
        return state, state

    def concerns(self, item: Any) -> bool:
        """Whether the item is looked at."""
        return True

    def find(self, text: str) -> str | None:
        """What was found first, as the end of "The input holds ...", without a quote of it; None: nothing."""
        raise NotImplementedError
