"""Lanes: every state with every input, queueing, slots, heads and eviction."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agent_core.errors import ProtocolError
from agent_core.protocol.lanes import (
    LANE_TABLE,
    Effect,
    Head,
    LaneInput,
    Lanes,
    LaneState,
    Limits,
    Outcome,
    Relation,
    Ticket,
)

_numbers = itertools.count(1)


def ticket(lane: str | None = None, previous: str | None = None, size: int = 0) -> Ticket:
    return Ticket(next(_numbers), lane, previous, size=size)


def started(lanes: Lanes[str], lane: str | None = None, previous: str | None = None) -> Ticket:
    """A ticket that runs."""
    made = ticket(lane, previous)
    lanes.create(made)
    assert lanes.grant() is made
    return made


def done(lanes: Lanes[str], running: Ticket, response_id: str) -> None:
    lanes.finish(running, Outcome.DONE, Head(response_id, f"payload of {response_id}"))


def test_every_state_has_every_input() -> None:
    assert set(LANE_TABLE) == set(itertools.product(LaneState, LaneInput))


def lane_in(state: LaneState) -> tuple[Lanes[str], Ticket | None]:
    """Lanes whose default lane is in `state`, and the ticket that runs or waits there."""
    lanes: Lanes[str] = Lanes(Limits(in_flight=1))
    if state is LaneState.IDLE:
        return lanes, None
    if state is LaneState.WAITING:
        started(lanes, "other")
        waiting = ticket()
        lanes.create(waiting)
        return lanes, waiting
    running = started(lanes)
    if state is LaneState.STOPPING:
        assert lanes.cancel(None) == (Effect.STOP, running)
    return lanes, running


@pytest.mark.parametrize(("state", "given_input"), sorted(LANE_TABLE, key=str))
def test_table_is_what_happens(state: LaneState, given_input: LaneInput) -> None:
    lanes, subject = lane_in(state)
    effect = LANE_TABLE[state, given_input]
    if given_input is LaneInput.CREATE:
        before = lanes.queued
        lanes.create(ticket())
        assert effect is Effect.ENQUEUE
        assert lanes.queued == before + 1
    elif given_input is LaneInput.CANCEL:
        assert lanes.cancel(None) == (effect, None if effect is Effect.IGNORE else subject)
    elif given_input is LaneInput.FINISH:
        if effect is Effect.ILLEGAL:
            with pytest.raises(ProtocolError):
                lanes.finish(subject or ticket(), Outcome.DONE)
        else:
            assert subject is not None
            lanes.finish(subject, Outcome.DONE, Head("resp", ""))
            assert lanes.running == []
    elif effect is Effect.START:
        lanes.finish(lanes.running[0], Outcome.FAILED)
        assert lanes.grant() is subject
    else:
        # The queue of waiting lanes never holds one that is not waiting, so a slot can't be granted to it.
        assert effect is Effect.ILLEGAL
        assert lanes.grant() is None


def test_a_lane_is_a_fifo() -> None:
    lanes: Lanes[str] = Lanes()
    first = started(lanes)
    second, third = ticket(), ticket()
    lanes.create(second)
    lanes.create(third)
    assert lanes.grant() is None
    done(lanes, first, "resp_1")
    assert lanes.grant() is second
    assert lanes.grant() is None
    done(lanes, second, "resp_2")
    assert lanes.grant() is third


def test_sixteen_in_flight_and_the_rest_in_order_of_waiting() -> None:
    lanes: Lanes[str] = Lanes()
    running = [started(lanes, f"lane-{index}") for index in range(16)]
    seventeenth, eighteenth = ticket("lane-17"), ticket("lane-18")
    lanes.create(seventeenth)
    lanes.create(eighteenth)
    assert lanes.grant() is None
    done(lanes, running[3], "resp_3")
    assert lanes.grant() is seventeenth
    assert lanes.grant() is None
    done(lanes, running[9], "resp_9")
    assert lanes.grant() is eighteenth


def test_a_busy_lane_goes_behind_lanes_that_wait_longer() -> None:
    lanes: Lanes[str] = Lanes(Limits(in_flight=1))
    first = started(lanes, "a")
    again, other = ticket("a"), ticket("b")
    lanes.create(again)
    lanes.create(other)
    done(lanes, first, "resp_1")
    assert lanes.grant() is other


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 257, "a/b", 7, True, ["a"], "a\n"])
def test_bad_lane_names(name: object) -> None:
    assert Lanes[str]().refusal(name) == "invalid_stream_id"


@pytest.mark.parametrize("name", [None, "a", "x" * 256, "A-Z_0.9"])
def test_good_lane_names(name: object) -> None:
    assert Lanes[str]().refusal(name) is None


def test_thirty_two_named_lanes_in_a_life_the_default_not_counted() -> None:
    lanes: Lanes[str] = Lanes()
    done(lanes, started(lanes), "resp_default")
    for index in range(32):
        assert lanes.refusal(f"lane-{index}") is None
        done(lanes, started(lanes, f"lane-{index}"), f"resp_{index}")
    assert lanes.refusal("lane-32") == "websocket_stream_limit_reached"
    assert lanes.refusal("lane-5") is None
    assert lanes.refusal(None) is None


def test_relations_are_fixed_when_a_ticket_starts() -> None:
    lanes: Lanes[str] = Lanes()
    done(lanes, started(lanes), "resp_1")
    assert started(lanes, "fork", "resp_1").relation is Relation.FORK
    first = started(lanes, None, "resp_1")
    assert first.relation is Relation.CONTINUE
    queued = ticket(None, "resp_2")
    lanes.create(queued)
    done(lanes, first, "resp_2")
    assert lanes.grant() is queued
    assert queued.relation is Relation.CONTINUE
    done(lanes, queued, "resp_3")
    assert started(lanes, None, "resp_1").relation is Relation.MISS


def test_only_the_latest_response_of_a_lane_is_kept() -> None:
    lanes: Lanes[str] = Lanes()
    done(lanes, started(lanes), "resp_1")
    done(lanes, started(lanes, None, "resp_1"), "resp_2")
    assert lanes.head("resp_1") is None
    head = lanes.head("resp_2")
    assert head is not None
    assert head.payload == "payload of resp_2"


@pytest.mark.parametrize(
    ("lane", "outcome", "kept"),
    [
        (None, Outcome.FAILED, False),
        (None, Outcome.CANCELLED, True),
        ("fork", Outcome.FAILED, True),
        ("fork", Outcome.CANCELLED, True),
    ],
)
def test_eviction(lane: str | None, outcome: Outcome, kept: bool) -> None:
    """A failed continuation of the same lane evicts what it named; a failed fork and a cancelled one do not."""
    lanes: Lanes[str] = Lanes()
    done(lanes, started(lanes), "resp_1")
    lanes.finish(started(lanes, lane, "resp_1"), outcome)
    assert (lanes.head("resp_1") is not None) is kept


def test_a_failure_that_names_another_id_keeps_the_head() -> None:
    lanes: Lanes[str] = Lanes()
    done(lanes, started(lanes), "resp_1")
    lanes.finish(started(lanes, None, "resp_unknown"), Outcome.FAILED)
    lanes.finish(started(lanes), Outcome.FAILED)
    assert lanes.head("resp_1") is not None


def test_cancel_of_a_lane_that_never_was() -> None:
    assert Lanes[str]().cancel("nobody") == (Effect.IGNORE, None)


def test_finishing_another_ticket_is_a_fault() -> None:
    lanes: Lanes[str] = Lanes()
    started(lanes)
    with pytest.raises(ProtocolError):
        lanes.finish(ticket(), Outcome.DONE)


def test_clear_forgets_all_but_what_runs() -> None:
    lanes: Lanes[str] = Lanes(Limits(in_flight=1))
    done(lanes, started(lanes), "resp_1")
    running = started(lanes)
    lanes.create(ticket(size=5))
    lanes.create(ticket("b", size=7))
    assert (lanes.queued, lanes.queued_bytes) == (2, 12)
    lanes.clear()
    assert (lanes.queued, lanes.queued_bytes, lanes.head("resp_1")) == (0, 0, None)
    lanes.finish(running, Outcome.CANCELLED)
    assert lanes.grant() is None
    assert not lanes.busy


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["create", "finish", "cancel"]), st.integers(0, 3)), max_size=60))
def test_any_history_keeps_the_rules(steps: list[tuple[str, int]]) -> None:
    """Each ticket starts at most once, in its lane's order; slots are never exceeded and never left idle."""
    lanes: Lanes[str] = Lanes(Limits(in_flight=2, named_lanes=32))
    names: list[str | None] = [None, "a", "b", "c"]
    waiting: dict[str | None, list[Ticket]] = {name: [] for name in names}
    running: list[Ticket] = []
    for step, index in steps:
        name = names[index]
        if step == "create":
            made = ticket(name)
            waiting[name].append(made)
            lanes.create(made)
        elif step == "finish" and running:
            lanes.finish(running.pop(index % len(running)), Outcome.DONE, Head("resp", ""))
        elif step == "cancel":
            effect, subject = lanes.cancel(name)
            if effect is Effect.WITHDRAW:
                assert subject is waiting[name].pop(0)
        while (granted := lanes.grant()) is not None:
            assert granted is waiting[granted.lane].pop(0)
            running.append(granted)
        assert len(running) <= 2
        assert {id(one) for one in running} == {id(one) for one in lanes.running}
        busy = {one.lane for one in running}
        if len(running) < 2:
            assert all(not queue for lane, queue in waiting.items() if lane not in busy)
