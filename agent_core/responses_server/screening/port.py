"""The screening port: classifiers that keep state per conversation and see each item once.

A classifier is a pure fold. Its state after a list of items is the same however the list is cut into calls, so
screening only what is new gives the verdict that screening everything would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Protocol

import msgspec


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

    def screen(self, state: Any, items: Sequence[Any]) -> tuple[Any, Verdict]:
        """State behind `items`, and the worst verdict on them. Never changes `state` in place."""
