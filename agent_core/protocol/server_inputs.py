"""What can happen to one connection of the server: one frozen class for each input of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from agent_core.protocol.lanes import Head, Outcome, Ticket
from agent_core.protocol.steering import Steer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Create:
    """A `response.create` arrived, for an allowed lane."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Cancel:
    """`stream_id` None: the default lane."""

    stream_id: str | None


@dataclass(frozen=True, slots=True)
class GiveSteer:
    """A `response.steer` arrived. `new_id`: its id if it is accepted. `fault`: what is wrong with its input."""

    steer: Steer
    new_id: str
    fault: Exception | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Input for a running response, where the service offers rollouts. `fault` is told if nothing runs there."""

    stream_id: str | None
    items: object
    fault: Exception


@dataclass(frozen=True, slots=True)
class BadFrame:
    """A frame that is no create and can't be read."""

    cause: Exception


@dataclass(frozen=True, slots=True)
class Ignorable:
    """An event of older protocol versions that asks for nothing (`response.append`, `response.processed`)."""


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """The ticket's terminal event is about to leave. `head` is the new head of its lane where `outcome` is DONE."""

    ticket: Ticket
    outcome: Outcome
    head: Head[T] | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Drain:
    """The server shuts down."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The client is gone."""
