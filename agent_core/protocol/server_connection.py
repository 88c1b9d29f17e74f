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
from agent_core.protocol.server_inputs import (
    Append,
    BadFrame,
    Cancel,
    Create,
    Disconnect,
    Drain,
    Finished,
    GiveSteer,
    Ignorable,
    Tick,
)
from agent_core.protocol.steering import DISPOSITIONS, MAX_PENDING, VERDICTS, Disposition, Ending, Steer, Target

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


ServerInput = Create | Cancel | GiveSteer | Ignorable | Append | BadFrame | Finished[Any] | Tick | Drain | Disconnect
"""Every kind of input; the table says what each does in each state."""

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
        return self.on(Create(ticket), now_s)

    def steer(self, now_s: float, steer: Steer, new_id: str, *, fault: Exception | None = None) -> list[Action]:
        """A `response.steer` arrived. `new_id`: its id if it is accepted. `fault`: what is wrong with its input."""
        return self.on(GiveSteer(steer, new_id, fault), now_s)

    def finished(self, now_s: float, ticket: Ticket, outcome: Outcome, head: Head[T] | None = None) -> list[Action]:
        """The ticket's terminal event is about to leave. `head` is the new head of its lane where `outcome` is DONE."""
        return self.on(Finished(ticket, outcome, head), now_s)

    def on(self, given: ServerInput, now_s: float) -> list[Action]:
        """Feed one input."""
        return TABLE[self.state, type(given)](self, given, now_s)

    def sent(self, ticket: Ticket, now_s: float) -> None:
        """An event of this ticket left."""
        ticket.last_sent_s = now_s

    @property
    def deadline_s(self) -> float | None:
        """When a `Tick` is due next, None if never."""
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

    def _admit(self, given: Create, now_s: float) -> list[Action]:
        self.lanes.create(given.ticket)
        return self._settle_queue()

    def _cancel(self, given: Cancel, now_s: float) -> list[Action]:
        effect, ticket = self.lanes.cancel(given.stream_id)
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

    def _steer(self, given: GiveSteer, now_s: float) -> list[Action]:
        steer, fault = given.steer, given.fault
        target, ticket = self._target(steer.previous_response_id)
        code = "invalid_input" if fault is not None else VERDICTS[target]
        if code is not None or ticket is None:
            return [RefuseSteer(code or "response_not_found", steer, ticket, fault)]
        accepted = replace(steer, id=given.new_id)
        ticket.steers.append(accepted)
        return [AcceptSteer(ticket, accepted)]

    def _append(self, given: Append, now_s: float) -> list[Action]:
        ticket = next((ticket for ticket in self.lanes.running if ticket.lane == given.stream_id), None)
        if ticket is None:
            return [Refuse(cause=given.fault, stream_id=given.stream_id)]
        return [Deliver(ticket, given.items)]

    def _report(self, given: BadFrame, now_s: float) -> list[Action]:
        return [Refuse(cause=given.cause)]

    def _release(self, given: Finished[T], now_s: float) -> list[Action]:
        ticket, outcome, head = given.ticket, given.outcome, given.head
        lost = self.lanes.finish(ticket, outcome, head)
        actions = self._settle_steers(ticket, lost, Ending.REPLACED)
        actions += self._settle_steers(ticket, ticket.steers, _ending(outcome, head), head)
        if ticket.last_sent_s is None:
            actions += self._settle_steers(ticket, ticket.before, Ending.FAILED)
        return [*actions, *self._settle_queue()]

    def _release_unheard(self, given: Finished[T], now_s: float) -> list[Action]:
        self.lanes.finish(given.ticket, Outcome.CANCELLED)
        return []

    def _tick_open(self, given: ServerInput, now_s: float) -> list[Action]:
        if now_s < self._expiry_s:
            return self._keepalives(now_s)
        self.state = State.EXPIRING
        return [*self._keepalives(now_s), *self._settle_queue()]

    def _tick_expiring(self, given: ServerInput, now_s: float) -> list[Action]:
        if now_s < self._expiry_s or self._cut:
            return self._keepalives(now_s)
        self._cut = self._limit_told = True
        return [
            Stop(ticket, "expired") for ticket in self.lanes.running if self.lanes.cancel(ticket.lane)[0] is Effect.STOP
        ]

    def _tick_draining(self, given: ServerInput, now_s: float) -> list[Action]:
        return self._keepalives(now_s)

    def _drain(self, given: ServerInput, now_s: float) -> list[Action]:
        self.state = State.DRAINING
        self._cut = True
        return self._settle_queue()

    def _disconnect(self, given: ServerInput, now_s: float) -> list[Action]:
        self.state = State.CLOSED
        self.lanes.clear()
        return [Stop(ticket, "gone") for ticket in self.lanes.running]

    def _ignore(self, given: ServerInput, now_s: float) -> list[Action]:
        return []

    # Shared steps

    def _target(self, response_id: str) -> tuple[Target, Ticket | None]:
        running = self.lanes.running_as(response_id)
        if running is None:
            head = self.lanes.head(response_id)
            if head is None:
                return Target.UNKNOWN, None
            return (Target.OVER if head.steerable else Target.NOT_STEERABLE), None
        ticket, state = running
        if not ticket.steerable:
            return Target.NOT_STEERABLE, ticket
        if state is LaneState.STOPPING:
            return Target.STOPPING, ticket
        return (Target.FULL if len(ticket.steers) >= MAX_PENDING else Target.OPEN), ticket

    def _settle_steers(
        self, ticket: Ticket, steers: list[Steer], ending: Ending, head: Head[T] | None = None
    ) -> list[Action]:
        """Decide on accepted steers now that the response they wait for is over."""
        if not steers:
            return []
        fate, code = DISPOSITIONS[ending]
        if fate is Disposition.SUCCEED:
            self.lanes.succeed(ticket, steers)
            return []
        if fate is Disposition.WAIT and head is not None:
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


_Handler = Callable[[ServerConnection[Any], Any, float], list[Action]]
_C = ServerConnection

TABLE: dict[tuple[State, type[ServerInput]], _Handler] = {
    (State.OPEN, Create): _C._admit,
    (State.OPEN, Cancel): _C._cancel,
    (State.OPEN, GiveSteer): _C._steer,
    (State.OPEN, Ignorable): _C._ignore,
    (State.OPEN, Append): _C._append,
    (State.OPEN, BadFrame): _C._report,
    (State.OPEN, Finished): _C._release,
    (State.OPEN, Tick): _C._tick_open,
    (State.OPEN, Drain): _C._drain,
    (State.OPEN, Disconnect): _C._disconnect,
    (State.EXPIRING, Create): _C._admit,
    (State.EXPIRING, Cancel): _C._cancel,
    (State.EXPIRING, GiveSteer): _C._steer,
    (State.EXPIRING, Ignorable): _C._ignore,
    (State.EXPIRING, Append): _C._append,
    (State.EXPIRING, BadFrame): _C._report,
    (State.EXPIRING, Finished): _C._release,
    (State.EXPIRING, Tick): _C._tick_expiring,
    (State.EXPIRING, Drain): _C._drain,
    (State.EXPIRING, Disconnect): _C._disconnect,
    (State.DRAINING, Create): _C._admit,
    (State.DRAINING, Cancel): _C._cancel,
    (State.DRAINING, GiveSteer): _C._steer,
    (State.DRAINING, Ignorable): _C._ignore,
    (State.DRAINING, Append): _C._append,
    (State.DRAINING, BadFrame): _C._report,
    (State.DRAINING, Finished): _C._release,
    (State.DRAINING, Tick): _C._tick_draining,
    (State.DRAINING, Drain): _C._ignore,
    (State.DRAINING, Disconnect): _C._disconnect,
    (State.CLOSED, Create): _C._ignore,
    (State.CLOSED, Cancel): _C._ignore,
    (State.CLOSED, GiveSteer): _C._ignore,
    (State.CLOSED, Ignorable): _C._ignore,
    (State.CLOSED, Append): _C._ignore,
    (State.CLOSED, BadFrame): _C._ignore,
    (State.CLOSED, Finished): _C._release_unheard,
    (State.CLOSED, Tick): _C._ignore,
    (State.CLOSED, Drain): _C._ignore,
    (State.CLOSED, Disconnect): _C._ignore,
}
