"""The server's connection machine: every state with every input, and the rules that span several of them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from agent_core.errors import WireError
from agent_core.protocol.lanes import Head, Limits, Outcome, Ticket
from agent_core.protocol.server_actions import (
    Action,
    Close,
    Deliver,
    Keepalive,
    Refuse,
    RefuseSteer,
    Start,
    Stop,
    Withdraw,
)
from agent_core.protocol.server_connection import (
    DRAIN_CODE,
    LIMIT_CODE,
    TABLE,
    Policy,
    ServerConnection,
    State,
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
from agent_core.protocol.steering import Steer

POLICY = Policy(life_s=100.0, grace_s=10.0, keepalive_s=15.0)
BAD = WireError("no", code="invalid_json")
STEER = Steer("resp_none", "faster")
INPUTS = (Create, Cancel, GiveSteer, Ignorable, Append, BadFrame, Finished, Tick, Drain, Disconnect)


def connection(policy: Policy = POLICY) -> ServerConnection[str]:
    return ServerConnection(policy, 0.0)


def start(
    machine: ServerConnection[str], now_s: float = 0.0, lane: str | None = None, previous: str | None = None
) -> Ticket:
    actions = machine.create(now_s, lane, previous, None)
    assert len(actions) == 1
    assert isinstance(actions[0], Start)
    return actions[0].ticket


def head(name: str) -> Head[str]:
    return Head(name, "")


def machine_in(state: State) -> tuple[ServerConnection[str], Ticket]:
    """A connection in `state` with one response running on the default lane."""
    machine = connection()
    running = start(machine)
    if state is State.EXPIRING:
        assert machine.on(Tick(), 100.0) == []
    elif state is State.DRAINING:
        assert machine.on(Drain(), 1.0) == []
    elif state is State.CLOSED:
        assert machine.on(Disconnect(), 1.0) == [Stop(running, "gone")]
    assert machine.state is state
    return machine, running


def test_input_for_a_stream_where_nothing_runs_is_refused() -> None:
    machine, _ = machine_in(State.OPEN)
    assert machine.on(Append("other", "input", BAD), 1.0) == [Refuse(cause=BAD, stream_id="other")]


def test_every_state_has_every_input() -> None:
    assert set(TABLE) == set(itertools.product(State, INPUTS))


def expected(state: State, given: type[Any], running: Ticket) -> list[Action]:
    """What each input does while one response runs."""
    if state is State.CLOSED or given is Ignorable:
        return []
    ends: dict[State, list[Action]] = {
        State.OPEN: [],
        State.EXPIRING: [Refuse(LIMIT_CODE), Close(1001, "connection lifetime reached")],
        State.DRAINING: [Close(1001, "server shutting down")],
    }
    table: dict[type[Any], list[Action]] = {
        Create: [],
        Cancel: [Stop(running, "cancelled")],
        GiveSteer: [RefuseSteer("response_not_found", STEER)],
        BadFrame: [Refuse(cause=BAD)],
        Append: [Deliver(running, "input")],
        Finished: ends[state],
        Tick: [],
        Drain: [],
        Disconnect: [Stop(running, "gone")],
    }
    return table[given]


@pytest.mark.parametrize(("state", "given"), sorted(TABLE, key=str))
def test_each_input_in_each_state(state: State, given: type[Any]) -> None:
    machine, running = machine_in(state)
    arguments: dict[type[Any], tuple[Any, ...]] = {
        Create: (Ticket(99, None, None),),
        Cancel: (None,),
        GiveSteer: (STEER, "steer_1"),
        BadFrame: (BAD,),
        Append: (None, "input", BAD),
        Finished: (running, Outcome.DONE, head("resp_1")),
    }
    assert machine.on(given(*arguments.get(given, ())), 5.0) == expected(state, given, running)
    if given is Create:
        assert machine.lanes.queued == (0 if state is State.CLOSED else 1)
    if given is Disconnect:
        assert machine.state is State.CLOSED
    if given is Drain and state is not State.CLOSED:
        assert machine.state is State.DRAINING


def test_overlapping_creates_are_queued_and_answered_in_order() -> None:
    machine = connection()
    first = start(machine)
    assert machine.create(0.0, None, None, "second") == []
    actions = machine.finished(1.0, first, Outcome.DONE, head("resp_1"))
    assert [type(action) for action in actions] == [Start]


def test_a_create_that_could_not_be_read_is_told_in_its_lanes_order_and_evicts() -> None:
    machine = connection()
    machine.finished(0.0, start(machine), Outcome.DONE, head("resp_1"))
    running = start(machine, previous="resp_1")
    assert machine.create(0.0, None, "resp_2", None, refusal=BAD) == []
    assert machine.create(0.0, None, "resp_2", None) == []
    actions = machine.finished(1.0, running, Outcome.DONE, head("resp_2"))
    assert actions[0] == Refuse(cause=BAD)
    assert isinstance(actions[1], Start)
    assert machine.lanes.head("resp_2") is None


def test_a_refused_create_of_a_named_lane_echoes_it() -> None:
    assert connection().create(0.0, "lane", None, None, refusal=BAD) == [Refuse(cause=BAD, stream_id="lane")]


def test_names_that_are_refused_at_once() -> None:
    machine = connection(Policy(limits=Limits(named_lanes=1)))
    start(machine, lane="only")
    assert machine.create(0.0, "no spaces", None, None) == [Refuse("invalid_stream_id")]
    refused = machine.create(0.0, "second", None, None)
    assert refused == [Refuse("websocket_stream_limit_reached", stream_id="second")]


def test_cancel_of_a_queued_create_withdraws_it() -> None:
    machine = connection(Policy(limits=Limits(in_flight=1)))
    start(machine)
    machine.create(0.0, "b", None, "queued")
    actions = machine.on(Cancel("b"), 0.0)
    assert len(actions) == 1
    assert isinstance(actions[0], Withdraw)
    assert actions[0].ticket.payload == "queued"


def test_cancel_of_a_queued_create_that_could_not_be_read_tells_why() -> None:
    machine = connection(Policy(limits=Limits(in_flight=1)))
    start(machine)
    machine.create(0.0, "b", None, None, refusal=BAD)
    assert machine.on(Cancel("b"), 0.0) == [Refuse(cause=BAD, stream_id="b")]


def test_a_second_cancel_and_a_cancel_of_nothing_are_ignored() -> None:
    machine = connection()
    running = start(machine)
    assert machine.on(Cancel(None), 0.0) == [Stop(running, "cancelled")]
    assert machine.on(Cancel(None), 0.0) == []
    machine.finished(0.0, running, Outcome.CANCELLED)
    assert machine.on(Cancel(None), 0.0) == []
    assert machine.on(Cancel("nobody"), 0.0) == []


def test_silence_of_a_running_response_is_broken_every_fifteen_seconds() -> None:
    machine = connection()
    running = start(machine)
    assert machine.deadline_s == 100.0
    machine.sent(running, 2.0)
    assert machine.deadline_s == 17.0
    assert machine.on(Tick(), 16.9) == []
    assert machine.on(Tick(), 17.0) == [Keepalive(running)]
    assert machine.on(Tick(), 17.1) == []
    machine.sent(running, 20.0)
    assert machine.on(Tick(), 32.0) == []
    assert machine.on(Tick(), 35.0) == [Keepalive(running)]
    machine.finished(36.0, running, Outcome.DONE, head("resp_1"))
    assert machine.on(Tick(), 60.0) == []


def test_no_keepalive_before_the_first_event_nor_when_switched_off() -> None:
    machine = connection()
    start(machine)
    assert machine.on(Tick(), 50.0) == []
    silent = connection(Policy(keepalive_s=0.0))
    silent.sent(start(silent), 0.0)
    assert silent.deadline_s == 3600.0
    assert silent.on(Tick(), 50.0) == []


def test_an_idle_connection_ends_with_the_limit_error() -> None:
    machine = connection()
    assert machine.on(Tick(), 99.9) == []
    assert machine.on(Tick(), 100.0) == [Refuse(LIMIT_CODE), Close(1001, "connection lifetime reached")]
    assert machine.state is State.CLOSED
    assert machine.deadline_s is None


def test_at_the_limit_what_runs_may_end_and_what_waits_is_told() -> None:
    machine = connection()
    running = start(machine)
    machine.create(0.0, None, None, "queued")
    assert machine.on(Tick(), 100.0) == []
    assert machine.create(101.0, "late", None, None) == [Refuse(LIMIT_CODE, stream_id="late")]
    actions = machine.finished(105.0, running, Outcome.DONE, head("resp_1"))
    assert actions == [Refuse(LIMIT_CODE), Close(1001, "connection lifetime reached")]


def test_past_the_grace_what_still_runs_is_cut_and_the_limit_told_once() -> None:
    machine = connection()
    running = start(machine)
    machine.on(Tick(), 100.0)
    assert machine.deadline_s == 110.0
    assert machine.on(Tick(), 110.0) == [Stop(running, "expired")]
    assert machine.on(Tick(), 111.0) == []
    assert machine.finished(111.0, running, Outcome.FAILED) == [Close(1001, "connection lifetime reached")]


def test_draining_finishes_what_runs_and_refuses_the_rest() -> None:
    machine = connection()
    running = start(machine)
    machine.create(0.0, None, None, "queued")
    assert machine.on(Drain(), 1.0) == []
    actions = machine.finished(2.0, running, Outcome.DONE, head("resp_1"))
    assert actions == [Refuse(DRAIN_CODE), Close(1001, "server shutting down")]
    assert connection().on(Drain(), 1.0) == [Close(1001, "server shutting down")]


def test_after_the_client_left_only_bookkeeping_remains() -> None:
    machine = connection()
    running = start(machine)
    machine.create(0.0, None, None, "queued")
    assert machine.on(Disconnect(), 1.0) == [Stop(running, "gone")]
    assert machine.create(1.0, None, None, None) == []
    assert machine.finished(2.0, running, Outcome.DONE, head("resp_1")) == []
    assert machine.lanes.head("resp_1") is None
    assert not machine.lanes.busy


def test_past_the_grace_what_is_already_stopping_is_not_stopped_twice() -> None:
    machine = connection()
    running = start(machine)
    machine.on(Tick(), 100.0)
    assert machine.on(Cancel(None), 101.0) == [Stop(running, "cancelled")]
    assert machine.on(Tick(), 110.0) == []
