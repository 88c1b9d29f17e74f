"""The server's side of one connection, as a table: what each input does in each state, as actions for the shell.

The shell reads frames, feeds them here, and carries out the returned actions in order; it decides nothing. Time is
passed in, in seconds of any monotonic clock. Admission, queueing and heads are in `lanes`; this module adds the life of
the connection (it expires, or the server drains), keepalives, and the rule that every create is answered exactly once,
in the order of its lane.

Source: OpenAI "WebSocket mode" guide (lanes, limits, eviction), Open Responses spec 2026-04-24 (terminal events),
openai/codex#43022 and #39771 (only application frames reset a client's idle watch, so silence is broken by repeating
`response.in_progress`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, TypeVar

from agent_core.protocol.lanes import Effect, Head, Lanes, LaneState, Limits, Outcome, Ticket
from agent_core.protocol.server_actions import (
    AcceptSteer,
    Action,
    AwaitOutputs,
    Close,
    Deliver,
    Keepalive,
    Refuse,
    RefuseSteer,
    Start,
    Stop,
    Withdraw,
)
from agent_core.protocol.steering import FATES, MAX_PENDING, VERDICTS, Ending, Fate, Steer, Target

T = TypeVar("T")


@dataclass(frozen=True)
class Policy:
    """Limits of a connection. `life_s`: age at which it expires. `grace_s`: how long running responses outlive that.

    `keepalive_s`: silence of a running response after which `response.in_progress` is repeated; 0 switches it off.
    """

    life_s: float = 3600.0
    grace_s: float = 60.0
    keepalive_s: float = 15.0
    limits: Limits = Limits()


class State(Enum):
    OPEN = "open"
    EXPIRING = "expiring"
    """Past its life: running responses end, everything else is told the limit; closes when idle."""
    DRAINING = "draining"
    """The server shuts down: running responses end, everything else is refused; closes when idle."""
    CLOSED = "closed"


class Input(Enum):
    CREATE = "create"
    CANCEL = "cancel"
    STEER = "steer"
    IGNORABLE = "ignorable"
    """Events of older protocol versions that ask for nothing (`response.append`, `response.processed`)."""
    APPEND = "append"
    """Input for a running response, where the service offers rollouts."""
    BAD_FRAME = "bad_frame"
    """A frame that is no create and can't be read."""
    FINISHED = "finished"
    TICK = "tick"
    DRAIN = "drain"
    DISCONNECT = "disconnect"


LIMIT_CODE = "websocket_connection_limit_reached"
DRAIN_CODE = "server_is_overloaded"

_REFUSED_BY: dict[State, str] = {State.EXPIRING: LIMIT_CODE, State.DRAINING: DRAIN_CODE}
_CLOSED_WITH: dict[State, Close] = {
    State.EXPIRING: Close(1001, "connection lifetime reached"),
    State.DRAINING: Close(1001, "server shutting down"),
}


class ServerConnection(Generic[T]):
    """One connection. Feed it with `on`; it answers with actions. `T` is what a head carries."""

    def __init__(self, policy: Policy, opened_s: float) -> None:
        self._policy, self._opened_s = policy, opened_s
        self.lanes: Lanes[T] = Lanes(policy.limits)
        self.state = State.OPEN
        self._numbers = 0
        self._limit_told = False
        self._cut = False

    # What each input does. Every pair is listed, so that a new state or input can't be forgotten.

    def create(
        self,
        now_s: float,
        stream_id: object,
        previous_response_id: str | None,
        payload: object,
        *,
        refusal: Exception | None = None,
        size: int = 0,
    ) -> list[Action]:
        """A `response.create` arrived. `refusal` is why it could not be read; it is told in the lane's order.

        `size`: bytes that it holds while it is queued.
        """
        code = self.lanes.refusal(stream_id)
        if code is not None and self.state is not State.CLOSED:
            echo = stream_id if isinstance(stream_id, str) and code != "invalid_stream_id" else None
            return [Refuse(code, stream_id=echo)]
        self._numbers += 1
        lane = stream_id if isinstance(stream_id, str) else None
        ticket = Ticket(self._numbers, lane, previous_response_id, payload, refusal, size)
        return self.on(Input.CREATE, now_s, ticket)

    def steer(self, now_s: float, steer: Steer, new_id: str, *, fault: Exception | None = None) -> list[Action]:
        """A `response.steer` arrived. `new_id`: its id if it is accepted. `fault`: what is wrong with its input."""
        return self.on(Input.STEER, now_s, (steer, new_id, fault))

    def finished(self, now_s: float, ticket: Ticket, outcome: Outcome, head: Head[T] | None = None) -> list[Action]:
        """The ticket's terminal event is about to leave. `head` is the new head of its lane where `outcome` is DONE."""
        return self.on(Input.FINISHED, now_s, (ticket, outcome, head))

    def on(self, given: Input, now_s: float, argument: Any = None) -> list[Action]:
        """Feed one input. `argument`: ticket (CREATE), stream id (CANCEL), error (BAD_FRAME); steer, id and fault
        (STEER); stream id, input and the error if nothing runs there (APPEND); ticket, outcome and head (FINISHED).
        """
        return TABLE[self.state, given](self, now_s, argument)

    def sent(self, ticket: Ticket, now_s: float) -> None:
        """An event of this ticket left."""
        ticket.last_sent_s = now_s

    @property
    def deadline_s(self) -> float | None:
        """When TICK is due next, None if never."""
        if self.state is State.CLOSED:
            return None
        times = [] if self._cut else [self._expiry_s]
        if self._policy.keepalive_s > 0:
            times += [
                ticket.last_sent_s + self._policy.keepalive_s
                for ticket in self.lanes.running
                if ticket.last_sent_s is not None
            ]
        return min(times, default=None)

    @property
    def _expiry_s(self) -> float:
        grace = self._policy.grace_s if self.state is State.EXPIRING else 0.0
        return self._opened_s + self._policy.life_s + grace

    # Handlers

    def _admit(self, now_s: float, ticket: Ticket) -> list[Action]:
        self.lanes.create(ticket)
        return self._settle_queue()

    def _cancel(self, now_s: float, stream_id: str | None) -> list[Action]:
        effect, ticket = self.lanes.cancel(stream_id)
        if ticket is None:
            return []
        if effect is Effect.STOP:
            return [Stop(ticket, "cancelled")]
        returned = self._settle_steers(ticket, ticket.before, Ending.CANCELLED)
        if ticket.is_successor:
            return returned
        if ticket.refusal is not None:
            return [*returned, Refuse(cause=ticket.refusal, stream_id=ticket.lane)]
        return [*returned, Withdraw(ticket)]

    def _steer(self, now_s: float, argument: tuple[Steer, str, Exception | None]) -> list[Action]:
        steer, new_id, fault = argument
        target, ticket = self._target(steer.previous_response_id)
        code = "invalid_input" if fault is not None else VERDICTS[target]
        if code is not None or ticket is None:
            return [RefuseSteer(code or "response_not_found", steer, ticket, fault)]
        accepted = replace(steer, id=new_id)
        ticket.steers.append(accepted)
        return [AcceptSteer(ticket, accepted)]

    def _append(self, now_s: float, argument: tuple[str | None, object, Exception]) -> list[Action]:
        stream_id, given, fault = argument
        ticket = next((ticket for ticket in self.lanes.running if ticket.lane == stream_id), None)
        return [Deliver(ticket, given) if ticket is not None else Refuse(cause=fault, stream_id=stream_id)]

    def _report(self, now_s: float, cause: Exception) -> list[Action]:
        return [Refuse(cause=cause)]

    def _release(self, now_s: float, argument: tuple[Ticket, Outcome, Head[T] | None]) -> list[Action]:
        ticket, outcome, head = argument
        lost = self.lanes.finish(ticket, outcome, head)
        actions = self._settle_steers(ticket, lost, Ending.REPLACED)
        actions += self._settle_steers(ticket, ticket.steers, _ending(outcome, head), head)
        if ticket.last_sent_s is None:
            actions += self._settle_steers(ticket, ticket.before, Ending.FAILED)
        return [*actions, *self._settle_queue()]

    def _release_unheard(self, now_s: float, argument: tuple[Ticket, Outcome, Head[T] | None]) -> list[Action]:
        self.lanes.finish(argument[0], Outcome.CANCELLED)
        return []

    def _tick_open(self, now_s: float, _: object) -> list[Action]:
        if now_s < self._expiry_s:
            return self._keepalives(now_s)
        self.state = State.EXPIRING
        return [*self._keepalives(now_s), *self._settle_queue()]

    def _tick_expiring(self, now_s: float, _: object) -> list[Action]:
        if now_s < self._expiry_s or self._cut:
            return self._keepalives(now_s)
        self._cut = self._limit_told = True
        return [
            Stop(ticket, "expired") for ticket in self.lanes.running if self.lanes.cancel(ticket.lane)[0] is Effect.STOP
        ]

    def _tick_draining(self, now_s: float, _: object) -> list[Action]:
        return self._keepalives(now_s)

    def _drain(self, now_s: float, _: object) -> list[Action]:
        self.state = State.DRAINING
        self._cut = True
        return self._settle_queue()

    def _disconnect(self, now_s: float, _: object) -> list[Action]:
        self.state = State.CLOSED
        self.lanes.clear()
        return [Stop(ticket, "gone") for ticket in self.lanes.running]

    def _ignore(self, now_s: float, _: object) -> list[Action]:
        return []

    # Shared steps

    def _target(self, response_id: str) -> tuple[Target, Ticket | None]:
        running = self.lanes.running_as(response_id)
        if running is None:
            head = self.lanes.head(response_id)
            if head is None:
                return Target.UNKNOWN, None
            return (Target.OVER if head.steerable else Target.DEAF), None
        ticket, state = running
        if not ticket.steerable:
            return Target.DEAF, ticket
        if state is LaneState.STOPPING:
            return Target.STOPPING, ticket
        return (Target.FULL if len(ticket.steers) >= MAX_PENDING else Target.OPEN), ticket

    def _settle_steers(
        self, ticket: Ticket, steers: list[Steer], ending: Ending, head: Head[T] | None = None
    ) -> list[Action]:
        """Decide on accepted steers now that the response they wait for is over."""
        if not steers:
            return []
        fate, code = FATES[ending]
        if fate is Fate.SUCCEED:
            self.lanes.succeed(ticket, steers)
            return []
        if fate is Fate.WAIT and head is not None:
            self.lanes.wait_for_outputs(ticket, steers)
            return [AwaitOutputs(ticket, steer, head.owed) for steer in steers]
        return [RefuseSteer(code or "response_not_active", steer, ticket) for steer in steers]

    def _settle_queue(self) -> list[Action]:
        """Start or refuse whatever may leave the queues; close once a dying connection is idle."""
        actions: list[Action] = []
        while (ticket := self.lanes.grant()) is not None:
            code = _REFUSED_BY.get(self.state)
            if code is None and ticket.refusal is None:
                actions.append(Start(ticket))
                continue
            self.lanes.finish(ticket, Outcome.FAILED)
            actions += self._settle_steers(ticket, ticket.before, Ending.FAILED)
            if not ticket.is_successor:
                self._limit_told = self._limit_told or code is not None
                actions.append(Refuse(code, None if code else ticket.refusal, ticket.lane))
        if self.state in _CLOSED_WITH and not self.lanes.busy:
            if self.state is State.EXPIRING and not self._limit_told:
                actions.append(Refuse(LIMIT_CODE))
            actions.append(_CLOSED_WITH[self.state])
            self.state = State.CLOSED
        return actions

    def _keepalives(self, now_s: float) -> list[Action]:
        limit_s = self._policy.keepalive_s
        if limit_s <= 0:
            return []
        silent = [
            ticket
            for ticket in self.lanes.running
            if ticket.last_sent_s is not None and now_s - ticket.last_sent_s >= limit_s
        ]
        for ticket in silent:
            ticket.last_sent_s = now_s
        return [Keepalive(ticket) for ticket in silent]


def _ending(outcome: Outcome, head: Head[Any] | None) -> Ending:
    if outcome is Outcome.DONE and head is not None:
        return Ending.OWED if head.owed else Ending.FREE
    return Ending.CANCELLED if outcome is Outcome.CANCELLED else Ending.FAILED


_Handler = Callable[[ServerConnection[Any], float, Any], list[Action]]
_C = ServerConnection

TABLE: dict[tuple[State, Input], _Handler] = {
    (State.OPEN, Input.CREATE): _C._admit,
    (State.OPEN, Input.CANCEL): _C._cancel,
    (State.OPEN, Input.STEER): _C._steer,
    (State.OPEN, Input.IGNORABLE): _C._ignore,
    (State.OPEN, Input.APPEND): _C._append,
    (State.OPEN, Input.BAD_FRAME): _C._report,
    (State.OPEN, Input.FINISHED): _C._release,
    (State.OPEN, Input.TICK): _C._tick_open,
    (State.OPEN, Input.DRAIN): _C._drain,
    (State.OPEN, Input.DISCONNECT): _C._disconnect,
    (State.EXPIRING, Input.CREATE): _C._admit,
    (State.EXPIRING, Input.CANCEL): _C._cancel,
    (State.EXPIRING, Input.STEER): _C._steer,
    (State.EXPIRING, Input.IGNORABLE): _C._ignore,
    (State.EXPIRING, Input.APPEND): _C._append,
    (State.EXPIRING, Input.BAD_FRAME): _C._report,
    (State.EXPIRING, Input.FINISHED): _C._release,
    (State.EXPIRING, Input.TICK): _C._tick_expiring,
    (State.EXPIRING, Input.DRAIN): _C._drain,
    (State.EXPIRING, Input.DISCONNECT): _C._disconnect,
    (State.DRAINING, Input.CREATE): _C._admit,
    (State.DRAINING, Input.CANCEL): _C._cancel,
    (State.DRAINING, Input.STEER): _C._steer,
    (State.DRAINING, Input.IGNORABLE): _C._ignore,
    (State.DRAINING, Input.APPEND): _C._append,
    (State.DRAINING, Input.BAD_FRAME): _C._report,
    (State.DRAINING, Input.FINISHED): _C._release,
    (State.DRAINING, Input.TICK): _C._tick_draining,
    (State.DRAINING, Input.DRAIN): _C._ignore,
    (State.DRAINING, Input.DISCONNECT): _C._disconnect,
    (State.CLOSED, Input.CREATE): _C._ignore,
    (State.CLOSED, Input.CANCEL): _C._ignore,
    (State.CLOSED, Input.STEER): _C._ignore,
    (State.CLOSED, Input.IGNORABLE): _C._ignore,
    (State.CLOSED, Input.APPEND): _C._ignore,
    (State.CLOSED, Input.BAD_FRAME): _C._ignore,
    (State.CLOSED, Input.FINISHED): _C._release_unheard,
    (State.CLOSED, Input.TICK): _C._ignore,
    (State.CLOSED, Input.DRAIN): _C._ignore,
    (State.CLOSED, Input.DISCONNECT): _C._ignore,
}
