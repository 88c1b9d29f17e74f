"""The screening port: classifiers that keep state per conversation and see each item once.

A classifier is a pure fold, and its verdict is about the whole conversation so far. Both are the same however the
conversation is cut into calls, so screening only what is new gives the verdict that screening everything would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Protocol

import msgspec

from agent_core.responses_server.slices import ITEMS_PER_SLICE, Slices


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
