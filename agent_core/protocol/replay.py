"""Replay safety: how far a request got when its way broke, and what may then be done.

A model call has no effect outside the service (tools run at the client, after the response ended), so a replay is
always allowed; what differs is what must be undone first. A tool never runs twice because its output is in the
history by then, and a replay sends that output with it. No I/O.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec


class Phase(Enum):
    """How far one request got."""

    NOT_SENT = "not_sent"
    """No byte of it left: the socket was found dead before the send, or never opened."""
    SENT = "sent"
    """It may have arrived; no event of a response came back."""
    EVENTS_SEEN = "events_seen"
    """A response began and did not reach its terminal event."""


class Replay(msgspec.Struct, frozen=True):
    """What a replay means.

    `new_attempt`: it is a further attempt of the call. `discard`: the partial output is void and the consumer must be
    told. `full`: the input goes in full, because what the service holds for the lane is unknown.
    """

    new_attempt: bool
    discard: bool
    full: bool


REPLAY: Final[dict[Phase, Replay]] = {
    Phase.NOT_SENT: Replay(new_attempt=False, discard=False, full=False),
    Phase.SENT: Replay(new_attempt=True, discard=False, full=True),
    Phase.EVENTS_SEEN: Replay(new_attempt=True, discard=True, full=True),
}
