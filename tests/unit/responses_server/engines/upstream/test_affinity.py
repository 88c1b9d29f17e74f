from __future__ import annotations

from agent_core.responses_server.engines.upstream.affinity import Affinity
from agent_core.responses_server.engines.upstream.lane import LaneMemory, lane_memory
from tests.support.engines.upstream_requests import engine_request


def slot_of(affinity: Affinity, lane: LaneMemory) -> int | None:
    with affinity.using(lane) as slot:
        return slot


def test_a_conversation_stays_at_its_slot() -> None:
    affinity, one, two = Affinity(2), LaneMemory("1"), LaneMemory("2")
    first = slot_of(affinity, one)
    assert slot_of(affinity, two) != first
    assert slot_of(affinity, one) == first


def test_a_slot_at_work_is_not_waited_for() -> None:
    affinity, one, two, three = Affinity(2), LaneMemory("1"), LaneMemory("2"), LaneMemory("3")
    slot_of(affinity, one)
    two.slot = one.slot
    with affinity.using(one) as busy:
        assert slot_of(affinity, two) != busy
        with affinity.using(three), affinity.using(two) as shared:
            assert shared is not None, "with all at work one is shared; the server queues"


def test_servers_without_slots_are_left_alone() -> None:
    assert slot_of(Affinity(0), LaneMemory("1")) is None


def test_a_lane_has_one_key_and_a_clients_key_is_not_told() -> None:
    request = engine_request(cache_key="alice:project")
    lane = lane_memory(request)
    assert lane_memory(request) is lane
    assert "alice" not in lane.key
    assert len(lane.key) <= 64
    assert lane_memory(engine_request(cache_key="alice:project")).key == lane.key
    assert lane_memory(engine_request()).key != lane_memory(engine_request()).key
