"""Steering in the connection machine: what may be steered, and what becomes of accepted input at every ending."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.errors import WireError
from agent_core.protocol.lanes import Head, Limits, Outcome, Relation, Ticket
from agent_core.protocol.server_actions import (
    AcceptSteer,
    Action,
    AwaitOutputs,
    Close,
    Refuse,
    RefuseSteer,
    Start,
    Stop,
    Withdraw,
)
from agent_core.protocol.server_connection import Policy, ServerConnection
from agent_core.protocol.server_inputs import Cancel, Disconnect, Drain
from agent_core.protocol.steering import DISPOSITIONS, MAX_PENDING, VERDICTS, Disposition, Ending, Steer, Target

OWED = ({"type": "function_call_output", "call_id": "call_1", "name": "read"},)


def connection(**limits: int) -> ServerConnection[str]:
    return ServerConnection(Policy(life_s=100.0, grace_s=10.0, limits=Limits(**limits)), 0.0)


def started(actions: list[Action]) -> Ticket:
    (ticket,) = (action.ticket for action in actions if isinstance(action, Start))
    return ticket


def start(
    machine: ServerConnection[str], response_id: str = "resp_1", *, lane: str | None = None, **given: Any
) -> Ticket:
    ticket = started(machine.create(0.0, lane, given.get("previous"), "job"))
    ticket.response_id, ticket.steerable = response_id, given.get("steerable", True)
    machine.sent(ticket, 0.0)
    return ticket


def steer(
    machine: ServerConnection[str], to: str = "resp_1", text: str = "faster", new_id: str = "steer_1"
) -> list[Action]:
    return machine.steer(1.0, Steer(to, text, [text]), new_id)


def head(response_id: str = "resp_1", **fields: Any) -> Head[str]:
    return Head(response_id, "", **fields)


def code(actions: list[Action]) -> list[tuple[str, str | None]]:
    return [(action.code, action.steer.id) for action in actions if isinstance(action, RefuseSteer)]


def test_the_tables_are_whole() -> None:
    assert set(VERDICTS) == set(Target)
    assert set(DISPOSITIONS) == set(Ending)
    assert all((code is None) is (fate is not Disposition.RETURN) for fate, code in DISPOSITIONS.values())


def test_a_running_response_that_can_be_steered_takes_the_input() -> None:
    machine = connection()
    ticket = start(machine)
    (action,) = steer(machine)
    assert isinstance(action, AcceptSteer)
    assert (action.ticket, action.steer.id, action.steer.sent) == (ticket, "steer_1", "faster")


def test_what_can_not_be_steered_says_why() -> None:
    machine = connection()
    assert code(steer(machine, "resp_0")) == [("response_not_found", None)]
    deaf = start(machine, steerable=False)
    assert code(steer(machine)) == [("steering_not_supported", None)]
    machine.finished(1.0, deaf, Outcome.DONE, head())
    assert code(steer(machine)) == [("steering_not_supported", None)]
    able = start(machine, "resp_2")
    machine.finished(1.0, able, Outcome.DONE, head("resp_2", steerable=True))
    assert code(steer(machine, "resp_2")) == [("response_already_completed", None)]
    stopping = start(machine, "resp_3")
    assert machine.on(Cancel(None), 1.0) == [Stop(stopping, "cancelled")]
    assert code(steer(machine, "resp_3")) == [("response_not_active", None)]


def test_bad_input_comes_before_all_else() -> None:
    machine = connection()
    start(machine)
    fault = WireError("no text", param="input")
    sent = Steer("resp_1", [])
    (action,) = machine.steer(1.0, sent, "", fault=fault)
    assert isinstance(action, RefuseSteer)
    assert (action.code, action.cause, action.steer) == ("invalid_input", fault, sent)


def test_so_many_may_wait() -> None:
    machine = connection()
    start(machine)
    for number in range(MAX_PENDING):
        assert isinstance(steer(machine, new_id=f"steer_{number}")[0], AcceptSteer)
    assert code(steer(machine)) == [("too_many_pending_steers", None)]


def test_the_server_starts_a_successor_with_all_that_waited() -> None:
    """It comes before what the client has queued, continues the steered response, and inherits its job."""
    machine = connection()
    ticket = start(machine, lane="side")
    steer(machine, text="one", new_id="steer_1")
    steer(machine, text="two", new_id="steer_2")
    assert machine.create(1.0, "side", None, "queued") == []
    heir = started(machine.finished(2.0, ticket, Outcome.DONE, head(steerable=True)))
    assert (heir.lane, heir.previous_response_id, heir.payload) == ("side", "resp_1", "job")
    assert heir.is_successor
    assert heir.relation is Relation.CONTINUE
    assert [each.sent for each in heir.before] == ["one", "two"]
    heir.response_id = "resp_2"
    machine.sent(heir, 2.0)
    after = started(machine.finished(3.0, heir, Outcome.DONE, head("resp_2")))
    assert (after.payload, after.is_successor, after.before) == ("queued", False, [])


def test_a_successor_waits_for_a_slot_like_any_other() -> None:
    machine = connection(in_flight=1)
    ticket = start(machine)
    steer(machine)
    assert machine.create(1.0, "other", None, "other") == []
    other = started(machine.finished(2.0, ticket, Outcome.DONE, head()))
    assert other.payload == "other"
    assert started(machine.finished(3.0, other, Outcome.DONE, head("resp_2"))).is_successor


def test_input_waits_for_the_outputs_of_the_clients_tools() -> None:
    machine = connection()
    ticket = start(machine)
    steer(machine)
    (pending,) = machine.finished(2.0, ticket, Outcome.DONE, head(owed=OWED))
    assert isinstance(pending, AwaitOutputs)
    assert (pending.ticket, pending.steer.id, pending.owed) == (ticket, "steer_1", OWED)
    fork = start(machine, "resp_f", lane="fork", previous="resp_1")
    assert fork.before == []
    going_on = start(machine, "resp_2", previous="resp_1")
    assert [each.id for each in going_on.before] == ["steer_1"]
    assert not going_on.is_successor
    assert machine.finished(3.0, going_on, Outcome.DONE, head("resp_2")) == []


def test_input_that_waits_is_returned_when_its_lane_goes_elsewhere() -> None:
    machine = connection()
    ticket = start(machine)
    steer(machine)
    machine.finished(2.0, ticket, Outcome.DONE, head(owed=OWED))
    afresh = start(machine, "resp_2")
    assert code(machine.finished(3.0, afresh, Outcome.DONE, head("resp_2"))) == [("response_not_active", "steer_1")]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [(Outcome.CANCELLED, "response_not_active"), (Outcome.FAILED, "successor_creation_failed")],
)
def test_input_is_returned_when_the_response_ends_badly(outcome: Outcome, expected: str) -> None:
    machine = connection()
    ticket = start(machine)
    steer(machine)
    (action,) = machine.finished(2.0, ticket, outcome)
    assert isinstance(action, RefuseSteer)
    assert (action.code, action.steer.id, action.ticket) == (expected, "steer_1", ticket)


def test_input_is_returned_when_the_successor_is_never_created() -> None:
    machine = connection()
    ticket = start(machine)
    steer(machine)
    heir = started(machine.finished(2.0, ticket, Outcome.DONE, head()))
    assert code(machine.finished(3.0, heir, Outcome.FAILED)) == [("successor_creation_failed", "steer_1")]


def test_input_is_committed_once_the_successor_is_created() -> None:
    machine = connection()
    ticket = start(machine)
    steer(machine)
    heir = started(machine.finished(2.0, ticket, Outcome.DONE, head()))
    machine.sent(heir, 2.5)
    assert machine.finished(3.0, heir, Outcome.FAILED) == []


def test_a_queued_successor_can_be_cancelled() -> None:
    machine = connection(in_flight=1)
    ticket = start(machine)
    steer(machine)
    machine.create(1.0, "other", None, "other")
    machine.finished(2.0, ticket, Outcome.DONE, head())
    actions = machine.on(Cancel(None), 3.0)
    assert code(actions) == [("response_not_active", "steer_1")]
    assert not any(isinstance(action, Withdraw) for action in actions)
    assert not machine.lanes.queued


def test_a_connection_on_its_way_out_returns_the_input() -> None:
    machine = connection()
    ticket = start(machine)
    machine.on(Drain(), 1.0)
    assert isinstance(steer(machine)[0], AcceptSteer)
    actions = machine.finished(2.0, ticket, Outcome.DONE, head())
    assert code(actions) == [("successor_creation_failed", "steer_1")]
    assert not any(isinstance(action, Refuse) for action in actions)
    assert isinstance(actions[-1], Close)


def test_nothing_is_said_on_a_connection_that_is_gone() -> None:
    machine = connection()
    ticket = start(machine)
    steer(machine)
    assert machine.on(Disconnect(), 2.0) == [Stop(ticket, "gone")]
    assert machine.finished(3.0, ticket, Outcome.CANCELLED) == []
