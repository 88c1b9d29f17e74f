"""Text and tokens of one conversation, as the model has seen it: the rendered-token cache of a lane. Pure.

The model's state is a function of the tokens, and what is appended leaves all before it as it is. A new prompt is the
transcript's text with something behind it, or else shares a beginning with it; it can be continued at a mark only,
since tokens do not end at every character.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Transcript:
    """Starts empty. A mark is a number of characters and the number of tokens that they are."""

    def __init__(self) -> None:
        self.text = ""
        self.tokens: list[int] = []
        self._marks: list[tuple[int, int]] = [(0, 0)]

    def shared(self, text: str) -> tuple[int, int]:
        """Characters and tokens of the longest beginning that `text` and the transcript share up to a mark."""
        if text.startswith(self.text):
            return self._marks[-1]
        at = bisect_left(self._marks, True, key=lambda mark: text[: mark[0]] != self.text[: mark[0]])
        return self._marks[max(0, at - 1)]

    def cut(self, mark: tuple[int, int]) -> None:
        """Forget what stands behind a mark."""
        chars, tokens = mark
        self.text = self.text[:chars]
        del self.tokens[tokens:]
        while self._marks[-1] > mark:
            self._marks.pop()

    def append(self, text: str, tokens: Sequence[int]) -> None:
        """`tokens` are `text`; a mark is set behind them."""
        self.text += text
        self.tokens += tokens
        if text or tokens:
            self._marks.append((len(self.text), len(self.tokens)))
