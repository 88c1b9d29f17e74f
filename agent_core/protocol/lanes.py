"""Lanes of one server connection: names, one FIFO each, the shared in-flight bound, chain heads and their eviction.

A lane is a `stream_id`; the default lane has none and is not counted. A lane answers one response at a time and
queues the rest; lanes run side by side up to `Limits.in_flight` and wait their turn beyond it, in the order in which
they began to wait. Each lane keeps the latest response only (its head). Source: OpenAI "WebSocket mode" guide, Open
Responses spec 2026-04-24.

No I/O and no clock. What a head carries is the service's business: `T` is never looked at here.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from agent_core.errors import ProtocolError
from agent_core.protocol.steering import Steer

T = TypeVar("T")

STREAM_ID = re.compile(r"[A-Za-z0-9_.-]{1,256}")


@dataclass(frozen=True)
class Limits:
    """`in_flight`: responses running at once on a connection; `named_lanes`: distinct stream ids in its whole life."""

    in_flight: int = 16
    named_lanes: int = 32


class LaneState(Enum):
    IDLE = "idle"
    """Nothing queued, nothing running."""
    WAITING = "waiting"
    """Queued, but every slot of the connection is taken."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Running and told to stop; its terminal event is still to come."""


class LaneInput(Enum):
    CREATE = "create"
    GRANT = "grant"
    """A slot is free for the head of the queue."""
    CANCEL = "cancel"
    FINISH = "finish"


class Effect(Enum):
    ENQUEUE = "enqueue"
    START = "start"
    STOP = "stop"
    WITHDRAW = "withdraw"
    """A queued response is cancelled before it started."""
    RELEASE = "release"
    IGNORE = "ignore"
    ILLEGAL = "illegal"
    """Our own shell broke the contract; raises ProtocolError."""


LANE_TABLE: dict[tuple[LaneState, LaneInput], Effect] = {
    (LaneState.IDLE, LaneInput.CREATE): Effect.ENQUEUE,
    (LaneState.IDLE, LaneInput.GRANT): Effect.ILLEGAL,
    (LaneState.IDLE, LaneInput.CANCEL): Effect.IGNORE,
    (LaneState.IDLE, LaneInput.FINISH): Effect.ILLEGAL,
    (LaneState.WAITING, LaneInput.CREATE): Effect.ENQUEUE,
    (LaneState.WAITING, LaneInput.GRANT): Effect.START,
    (LaneState.WAITING, LaneInput.CANCEL): Effect.WITHDRAW,
    (LaneState.WAITING, LaneInput.FINISH): Effect.ILLEGAL,
    (LaneState.RUNNING, LaneInput.CREATE): Effect.ENQUEUE,
    (LaneState.RUNNING, LaneInput.GRANT): Effect.ILLEGAL,
    (LaneState.RUNNING, LaneInput.CANCEL): Effect.STOP,
    (LaneState.RUNNING, LaneInput.FINISH): Effect.RELEASE,
    (LaneState.STOPPING, LaneInput.CREATE): Effect.ENQUEUE,
    (LaneState.STOPPING, LaneInput.GRANT): Effect.ILLEGAL,
    (LaneState.STOPPING, LaneInput.CANCEL): Effect.IGNORE,
    (LaneState.STOPPING, LaneInput.FINISH): Effect.RELEASE,
}


class Relation(Enum):
    """How a create stands to what the connection remembers."""

    FRESH = "fresh"
    """It names no previous response."""
    CONTINUE = "continue"
    """It names the head of its own lane."""
    FORK = "fork"
    """It names the head of another lane."""
    MISS = "miss"
    """It names an id that no lane holds; only the durable store can help."""


class Outcome(Enum):
    DONE = "done"
    """Completed, or incomplete by a limit: the response is the lane's new head."""
    CANCELLED = "cancelled"
    """Stopped by the client: the head stays what it was."""
    FAILED = "failed"
    """An `error` frame or `response.failed`."""


@dataclass(frozen=True)
class Head(Generic[T]):
    """The latest response of a lane.

    `steerable`: whether it could have been steered. `owed`: stubs of the outputs that its calls still wait for.
    """

    response_id: str
    payload: T
    steerable: bool = False
    owed: tuple[object, ...] = ()


@dataclass(eq=False)
class Ticket:
    """One admitted `response.create`. `size`: what it holds while it is queued, in bytes.

    `refusal` is set where the frame was refused on reading: the error is still told in the lane's order. `last_sent_s`
    is None until the first event left. `response_id` is "" until it starts; `steerable` is False until it is known.
    `steers` wait for its end, `before` are those that it takes in itself. `is_successor`: the server started it, for
    those.
    """

    number: int
    lane: str | None
    """None: the default lane."""
    previous_response_id: str | None
    """None: it continues none."""
    payload: object = None
    refusal: Exception | None = None
    size: int = 0
    relation: Relation = Relation.FRESH
    last_sent_s: float | None = None
    response_id: str = ""
    steerable: bool = False
    steers: list[Steer] = field(default_factory=list)
    before: list[Steer] = field(default_factory=list)
    is_successor: bool = False


@dataclass(eq=False)
class Lane(Generic[T]):
    name: str | None
    state: LaneState = LaneState.IDLE
    queue: deque[Ticket] = field(default_factory=deque)
    running: Ticket | None = None
    head: Head[T] | None = None
    waiting_steers: list[Steer] = field(default_factory=list)
    """Accepted for the head, until the outputs that it is owed come."""


class Lanes(Generic[T]):
    """All lanes of one connection."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._lanes: dict[str | None, Lane[T]] = {None: Lane(None)}
        self._waiting: deque[Lane[T]] = deque()
        self._running = 0
        self._queued = 0
        self._queued_bytes = 0

    @property
    def running(self) -> list[Ticket]:
        """Tickets that run now, in the order of their lanes' first use."""
        return [lane.running for lane in self._lanes.values() if lane.running is not None]

    @property
    def queued(self) -> int:
        """Tickets that wait."""
        return self._queued

    @property
    def queued_bytes(self) -> int:
        """Sum of their sizes."""
        return self._queued_bytes

    @property
    def busy(self) -> bool:
        return self._running > 0 or self._queued > 0

    def refusal(self, name: object) -> str | None:
        """The error code that keeps `name` from being used as a lane, None if it may be."""
        if name is None or (isinstance(name, str) and name in self._lanes):
            return None
        if not isinstance(name, str) or STREAM_ID.fullmatch(name) is None:
            return "invalid_stream_id"
        if len(self._lanes) - 1 >= self._limits.named_lanes:
            return "websocket_stream_limit_reached"
        return None

    def create(self, ticket: Ticket) -> None:
        """Queue a ticket on its lane, which `refusal` must have let pass. Ask `grant` for what may start."""
        lane = self._lanes.get(ticket.lane)
        if lane is None:
            lane = self._lanes[ticket.lane] = Lane(ticket.lane)
        self._effect(lane, LaneInput.CREATE)
        lane.queue.append(ticket)
        self._count(ticket, 1)
        if lane.state is LaneState.IDLE:
            self._wait(lane)

    def succeed(self, ticket: Ticket, steers: list[Steer]) -> Ticket:
        """Put a successor of a finished ticket at the front of its lane's queue."""
        lane = self._lanes[ticket.lane]
        assert lane.head is not None
        heir = Ticket(ticket.number, ticket.lane, lane.head.response_id, ticket.payload, before=steers)
        heir.is_successor = True
        lane.queue.appendleft(heir)
        self._count(heir, 1)
        if lane.state is LaneState.IDLE:
            self._wait(lane)
        return heir

    def grant(self) -> Ticket | None:
        """The next ticket to start, None if no slot is free or nobody waits. Its relation to the heads is fixed now."""
        if not self._waiting or self._running >= self._limits.in_flight:
            return None
        lane = self._waiting.popleft()
        self._effect(lane, LaneInput.GRANT)
        ticket = lane.queue.popleft()
        self._count(ticket, -1)
        lane.state, lane.running = LaneState.RUNNING, ticket
        self._running += 1
        ticket.relation = self._relation(lane, ticket.previous_response_id)
        if ticket.relation is Relation.CONTINUE and lane.waiting_steers:
            ticket.before, lane.waiting_steers = lane.waiting_steers, []
        return ticket

    def cancel(self, name: str | None) -> tuple[Effect, Ticket | None]:
        """STOP with the running ticket, WITHDRAW with the first queued one, or IGNORE."""
        lane = self._lanes.get(name)
        if lane is None:
            return Effect.IGNORE, None
        effect = self._effect(lane, LaneInput.CANCEL)
        if effect is Effect.STOP:
            lane.state = LaneState.STOPPING
            return effect, lane.running
        if effect is Effect.WITHDRAW:
            ticket = lane.queue.popleft()
            self._count(ticket, -1)
            if not lane.queue:
                self._waiting.remove(lane)
                lane.state = LaneState.IDLE
            return effect, ticket
        return effect, None

    def finish(self, ticket: Ticket, outcome: Outcome, head: Head[T] | None = None) -> list[Steer]:
        """The ticket's terminal event leaves now: free the lane, move or evict its head. `grant` says what may start.

        Returns steers that waited for a head that is gone now.
        """
        lane = self._lanes[ticket.lane]
        self._effect(lane, LaneInput.FINISH)
        if lane.running is not ticket:
            raise ProtocolError(f"response {ticket.number} is not the one that runs on its lane")
        lane.running = None
        self._running -= 1
        before = lane.head
        if outcome is Outcome.DONE:
            lane.head = head
        elif outcome is Outcome.FAILED and ticket.relation is Relation.CONTINUE:
            lane.head = None
        lane.state = LaneState.IDLE
        if lane.queue:
            self._wait(lane)
        lost = lane.waiting_steers if lane.head is not before else []
        if lost:
            lane.waiting_steers = []
        return lost

    def wait_for_outputs(self, ticket: Ticket, steers: list[Steer]) -> None:
        """Keep steers for the create that brings the outputs that the ticket's response is owed."""
        self._lanes[ticket.lane].waiting_steers += steers

    def head(self, response_id: str) -> Head[T] | None:
        """The head with this id on any lane."""
        for lane in self._lanes.values():
            if lane.head is not None and lane.head.response_id == response_id:
                return lane.head
        return None

    def head_of(self, name: str | None) -> Head[T] | None:
        """The head of this lane."""
        lane = self._lanes.get(name)
        return lane.head if lane is not None else None

    def evict(self, response_id: str) -> bool:
        """Forget the head with this id. False if it is gone already, or if accepted input waits for it."""
        for lane in self._lanes.values():
            if lane.head is not None and lane.head.response_id == response_id and not lane.waiting_steers:
                lane.head = None
                return True
        return False

    def running_as(self, response_id: str) -> tuple[Ticket, LaneState] | None:
        """The running ticket with this response id, and its lane's state."""
        for lane in self._lanes.values():
            if lane.running is not None and lane.running.response_id == response_id:
                return lane.running, lane.state
        return None

    def clear(self) -> None:
        """Forget queues and heads: the connection is gone. Running tickets still have to finish."""
        for lane in self._lanes.values():
            lane.queue.clear()
            lane.head = None
            lane.waiting_steers = []
            if lane.state is LaneState.WAITING:
                lane.state = LaneState.IDLE
        self._waiting.clear()
        self._queued = self._queued_bytes = 0

    def _count(self, ticket: Ticket, sign: int) -> None:
        self._queued += sign
        self._queued_bytes += sign * ticket.size

    def _wait(self, lane: Lane[T]) -> None:
        lane.state = LaneState.WAITING
        self._waiting.append(lane)

    def _relation(self, lane: Lane[T], previous_response_id: str | None) -> Relation:
        if previous_response_id is None:
            return Relation.FRESH
        if lane.head is not None and lane.head.response_id == previous_response_id:
            return Relation.CONTINUE
        return Relation.MISS if self.head(previous_response_id) is None else Relation.FORK

    def _effect(self, lane: Lane[T], given: LaneInput) -> Effect:
        effect = LANE_TABLE[lane.state, given]
        if effect is Effect.ILLEGAL:
            raise ProtocolError(f"{given.value} is illegal on a lane that is {lane.state.value}")
        return effect
