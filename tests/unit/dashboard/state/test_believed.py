from __future__ import annotations

import itertools

import pytest

from agent_core.telemetry.events import CallCompleted, Event, ServiceCall
from dashboard.state import believed as module
from dashboard.state.believed import NOBODY, Believed, Teller
from tests.support.telemetry.scene import Scene

HERS, EVES, TEAMS = Teller("blue", "anna"), Teller("blue", "eve"), Teller("blue", "shared", True)
ELSEWHERE = Teller("green", "anna", True)


def events() -> tuple[Event, Event]:
    """A call, and what a service tells of it."""
    scene = Scene()
    scene.start_session()
    scene.start_turn()
    scene.complete(scene.send("call_1", reuse="first"), 10, input_tokens=1, output_tokens=1)
    (call,) = [event for event in scene.events if isinstance(event, CallCompleted)]
    assert call.response_id is not None
    scene.emit(ServiceCall(response_id=call.response_id, stages_ms={"admission": 1.0}, new_tokens=1, reused_tokens=0))
    return call, scene.events[-1]


@pytest.mark.parametrize("first", ["call", "service"])
@pytest.mark.parametrize(("who", "counts"), [(HERS, True), (TEAMS, True), (EVES, False), (ELSEWHERE, False)])
def test_only_the_owner_and_services_of_the_team_count_in_either_order(who: Teller, counts: bool, first: str) -> None:
    call, told = events()
    pairs = [(call, HERS), (told, who)]
    believed = Believed()
    taken = [each for event, by in (pairs if first == "call" else pairs[::-1]) for each in believed.take(event, by)]
    assert taken == [call, told] if counts else taken == [call]


def test_who_names_a_response_later_does_not_own_it_and_hides_nothing() -> None:
    call, told = events()
    believed = Believed()
    steps = [(told, EVES), (told, HERS), (call, HERS), (call, EVES), (told, EVES)]
    taken = [each for event, by in steps for each in believed.take(event, by)]
    assert taken == [call, told, call]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    call, told = events()
    believed = Believed()
    for agent in map(str, range(9)):
        list(itertools.chain(believed.take(told, Teller(agent, agent))))
    assert len(believed._waiting) == 3
    assert list(believed.take(call, NOBODY)) == [call]
