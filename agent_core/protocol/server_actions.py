"""What the server's side of a connection tells its shell to do, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_core.protocol.lanes import Ticket
from agent_core.protocol.steering import Steer


@dataclass(frozen=True)
class Start:
    """Run this ticket's response."""

    ticket: Ticket


@dataclass(frozen=True)
class Stop:
    """End the running response: `cancelled` by its client, `expired` past the grace, `gone` without anyone to tell."""

    ticket: Ticket
    cause: Literal["cancelled", "expired", "gone"]


@dataclass(frozen=True)
class Withdraw:
    """A queued ticket was cancelled: answer it as created and at once cancelled."""

    ticket: Ticket


@dataclass(frozen=True)
class Refuse:
    """Send an `error` frame. `code` None: tell `cause`. `stream_id` None: the default lane or the whole connection."""

    code: str | None = None
    cause: Exception | None = None
    stream_id: str | None = None


@dataclass(frozen=True)
class AcceptSteer:
    """Send `response.steer.accepted` in the ticket's stream, then ask its response to end at a safe boundary."""

    ticket: Ticket
    steer: Steer


@dataclass(frozen=True)
class AwaitOutputs:
    """Send `response.steer.pending` behind the ticket's terminal event. `owed`: stubs of the outputs."""

    ticket: Ticket
    steer: Steer
    owed: tuple[object, ...]


@dataclass(frozen=True)
class RefuseSteer:
    """Send `response.steer.failed`. `ticket`: in whose stream, None if it named none that runs or ran last.

    `cause`: what is wrong with the input, None if it is not the input.
    """

    code: str
    steer: Steer
    ticket: Ticket | None = None
    cause: Exception | None = None


@dataclass(frozen=True)
class Deliver:
    """Hand `payload`, which its client appended, to the running response of this ticket."""

    ticket: Ticket
    payload: object


@dataclass(frozen=True)
class Keepalive:
    """Repeat `response.in_progress` for this ticket."""

    ticket: Ticket


@dataclass(frozen=True)
class Close:
    code: int
    reason: str


Action = Start | Stop | Withdraw | Refuse | AcceptSteer | AwaitOutputs | RefuseSteer | Deliver | Keepalive | Close
