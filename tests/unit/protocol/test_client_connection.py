"""The client connection's table, driven with every input in every state, and whose event an event is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import ProtocolError
from agent_core.protocol.client_connection import KEPT_IDS, TABLE, ClientConnection, Effect, Input, State

WAY_TO: dict[State, list[Input]] = {
    State.IDLE: [],
    State.CONNECTING: [Input.CONNECT],
    State.READY: [Input.CONNECT, Input.OPENED],
    State.IN_FLIGHT: [Input.CONNECT, Input.OPENED, Input.SEND],
    State.DRAINING: [Input.CONNECT, Input.OPENED, Input.SEND, Input.CANCEL],
    State.CLOSED: [Input.CLOSE],
}

EXPECTED: dict[State, dict[Input, tuple[State, Effect]]] = {
    State.IDLE: {
        Input.CONNECT: (State.CONNECTING, Effect.OPEN),
        Input.CLOSE: (State.CLOSED, Effect.NONE),
    },
    State.CONNECTING: {
        Input.OPENED: (State.READY, Effect.NONE),
        Input.REFUSED: (State.CLOSED, Effect.NONE),
        Input.CLOSE: (State.CLOSED, Effect.DROP),
        Input.LOST: (State.CLOSED, Effect.NONE),
    },
    State.READY: {
        Input.SEND: (State.IN_FLIGHT, Effect.TRANSMIT),
        Input.MIXED_UP: (State.CLOSED, Effect.DROP),
        Input.CLOSE: (State.CLOSED, Effect.DROP),
        Input.LOST: (State.CLOSED, Effect.NONE),
    },
    State.IN_FLIGHT: {
        Input.ENDED: (State.READY, Effect.NONE),
        Input.CANCEL: (State.DRAINING, Effect.STOP),
        Input.MIXED_UP: (State.CLOSED, Effect.DROP),
        Input.CLOSE: (State.CLOSED, Effect.DROP),
        Input.LOST: (State.CLOSED, Effect.NONE),
    },
    State.DRAINING: {
        Input.ENDED: (State.READY, Effect.NONE),
        Input.CANCEL: (State.DRAINING, Effect.NONE),
        Input.OVERDUE: (State.CLOSED, Effect.DROP),
        Input.MIXED_UP: (State.CLOSED, Effect.DROP),
        Input.CLOSE: (State.CLOSED, Effect.DROP),
        Input.LOST: (State.CLOSED, Effect.NONE),
    },
    State.CLOSED: {
        Input.REFUSED: (State.CLOSED, Effect.NONE),
        Input.CANCEL: (State.CLOSED, Effect.NONE),
        Input.OVERDUE: (State.CLOSED, Effect.NONE),
        Input.MIXED_UP: (State.CLOSED, Effect.NONE),
        Input.CLOSE: (State.CLOSED, Effect.NONE),
        Input.LOST: (State.CLOSED, Effect.NONE),
    },
}


def in_state(state: State) -> ClientConnection:
    connection = ClientConnection()
    for step in WAY_TO[state]:
        connection.feed(step)
    assert connection.state is state
    return connection


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Input)))
def test_every_state_with_every_input(state: State, event: Input) -> None:
    connection = in_state(state)
    expected = EXPECTED[state].get(event)
    if expected is None:
        with pytest.raises(ProtocolError):
            connection.feed(event)
        assert connection.state is state
    else:
        assert connection.feed(event) is expected[1]
        assert connection.state is expected[0]


def test_no_row_leads_out_of_closed_and_every_state_is_reached() -> None:
    assert {new for (old, _), (new, _) in TABLE.items() if old is State.CLOSED} == {State.CLOSED}
    assert {new for new, _ in TABLE.values()} | {State.IDLE} == set(State)


def test_the_first_id_after_a_send_is_the_calls_own() -> None:
    connection = in_state(State.IN_FLIGHT)
    assert connection.claims("resp_1")
    assert connection.response_id == "resp_1"
    assert connection.claims(None)


def test_late_events_of_an_ended_response_never_answer_a_later_call() -> None:
    connection = in_state(State.IN_FLIGHT)
    connection.claims("resp_1")
    connection.feed(Input.CANCEL)
    assert connection.claims("resp_1")  # its own tail, while draining
    connection.feed(Input.ENDED)
    assert not connection.claims("resp_1")
    assert not connection.claims(None)
    connection.feed(Input.SEND)
    assert not connection.claims("resp_1")
    assert connection.response_id is None
    assert connection.claims("resp_2")
    assert not connection.claims("resp_1")


def test_remembered_ids_are_bounded() -> None:
    connection = in_state(State.READY)
    for n in range(KEPT_IDS + 1):
        connection.feed(Input.SEND)
        connection.claims(f"resp_{n}")
        connection.feed(Input.ENDED)
    connection.feed(Input.SEND)
    assert not connection.claims(f"resp_{KEPT_IDS}")
    assert connection.claims("resp_0")  # forgotten, and sixteen responses old


def test_age_counts_from_the_handshake() -> None:
    connection = in_state(State.CONNECTING)
    assert connection.age_ns(5) == 0
    connection.opened(1_000)
    assert connection.age_ns(4_000) == 3_000


@given(st.lists(st.sampled_from(Input), max_size=30))
def test_after_any_inputs_a_call_is_bound_only_while_one_runs(inputs: list[Input]) -> None:
    connection = ClientConnection()
    for n, step in enumerate(inputs):
        try:
            connection.feed(step)
        except ProtocolError:
            continue
        busy = connection.state in (State.IN_FLIGHT, State.DRAINING)
        assert connection.claims(f"resp_{n}") is busy
        assert (connection.response_id is not None) is busy
