"""Steering a response that runs: what may be steered, and what becomes of input that was accepted.

A steer is accepted (queued), and committed when the response that takes it in is created. What happens in between
depends on how the steered response ends; both decisions are tables. Source: openai-python `ResponseSteerEvent`,
`ResponseSteerPendingEvent`, `ResponseSteerFailedEvent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

MAX_PENDING = 16
"""Steers that may wait for one response."""


@dataclass(frozen=True)
class Steer:
    """Input for the response that follows `previous_response_id`. `sent`: as the client sent it, to give it back.

    `items`: the same, read. `id` is None until it is accepted.
    """

    previous_response_id: str
    sent: Any
    items: Any = None
    id: str | None = None


class Target(Enum):
    """The response that a steer names."""

    UNKNOWN = "unknown"
    """Neither running on this connection nor the head of a lane."""
    NOT_STEERABLE = "deaf"
    """Its model or its way to run can't be steered."""
    OVER = "over"
    STOPPING = "stopping"
    FULL = "full"
    """Enough steers wait for it."""
    OPEN = "open"


VERDICTS: dict[Target, str | None] = {
    Target.UNKNOWN: "response_not_found",
    Target.NOT_STEERABLE: "steering_not_supported",
    Target.OVER: "response_already_completed",
    Target.STOPPING: "response_not_active",
    Target.FULL: "too_many_pending_steers",
    Target.OPEN: None,
}
"""Code of the refusal; None: accepted."""


class Ending(Enum):
    """How a response ended that steers wait for."""

    FREE = "free"
    """It can be continued at once."""
    OWED = "owed"
    """It waits for outputs of its client's tools."""
    CANCELLED = "cancelled"
    FAILED = "failed"
    REPLACED = "replaced"
    """It was owed outputs, and its lane went on without them."""


class Disposition(Enum):
    SUCCEED = "succeed"
    """The server starts the response that takes the input in."""
    WAIT = "wait"
    """The input joins the client's next create that continues the response."""
    RETURN = "return"
    """The client gets it back."""


DISPOSITIONS: dict[Ending, tuple[Disposition, str | None]] = {
    Ending.FREE: (Disposition.SUCCEED, None),
    Ending.OWED: (Disposition.WAIT, None),
    Ending.CANCELLED: (Disposition.RETURN, "response_not_active"),
    Ending.FAILED: (Disposition.RETURN, "successor_creation_failed"),
    Ending.REPLACED: (Disposition.RETURN, "response_not_active"),
}
"""What becomes of the steers, and the code where they are returned."""
