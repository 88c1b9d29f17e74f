"""The screening port: classifiers that keep state per conversation and see each item once.

A classifier is a pure fold, and its verdict is about the whole conversation so far. Both are the same however the
conversation is cut into calls, so screening only what is new gives the verdict that screening everything would give.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from enum import IntEnum
from typing import Any, Protocol, TypeVar

import msgspec

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Work in slices: it yields at the latest after a millisecond, so that others get their turn; then its result."""


class Action(IntEnum):
    """Ordered by severity."""

    ALLOW = 0
    FLAG = 1
    """Served; shows in telemetry and in the response's metadata."""
    BLOCK = 2
    """Answered by `response.failed` with the verdict's code."""


class Verdict(msgspec.Struct, frozen=True):
    """`code` is the policy code of a block or flag ("" for ALLOW); `message` tells the client, without quoting
    content.
    """

    action: Action = Action.ALLOW
    code: str = ""
    message: str = ""


ALLOWED = Verdict()

ITEMS_PER_SLICE = 64
"""Items that are judged before others get their turn, if they are small."""


class Classifier(Protocol):
    @property
    def name(self) -> str: ...

    def initial(self) -> Any:
        """State of an empty conversation."""

    def screen(self, state: Any, items: Sequence[Any]) -> Slices[tuple[Any, Verdict]]:
        """State behind `items`, and the verdict on all that led to it. Never changes `state` in place."""


class ItemClassifier:
    """Judges each item by itself: its state is its verdict, the worst so far (the first of equals)."""

    name = ""

    def initial(self) -> Verdict:
        return ALLOWED

    def screen(self, state: Verdict, items: Sequence[Any]) -> Slices[tuple[Verdict, Verdict]]:
        for number, item in enumerate(items, 1):
            found = yield from self.judge(item)
            if found.action > state.action:
                state = found
            if number % ITEMS_PER_SLICE == 0:
                yield
        return state, state

    def judge(self, item: Any) -> Slices[Verdict]:
        """The verdict on one item, whatever stands beside it."""
        raise NotImplementedError


def at_once(work: Slices[T]) -> T:
    """All slices of some work, one after the other."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
