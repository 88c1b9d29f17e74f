from __future__ import annotations

import asyncio
import gc

from agent_core.responses_server.engines.llama.lanes import Keyed, Lane, Slots

BOUND_S = 5.0


async def use(slots: Slots, lane: Lane, text: str = "") -> tuple[int, bool]:
    async with asyncio.timeout(BOUND_S), slots.holding(lane, text) as held:
        return held


async def test_a_lane_keeps_its_slot() -> None:
    slots, one, two = Slots(2), Lane(), Lane()
    first = await use(slots, one)
    assert first[1] is False
    assert await use(slots, two) != first
    assert await use(slots, one) == (first[0], True)
    assert slots.evictions == 0


async def test_the_slot_unused_for_longest_is_taken_and_its_lane_starts_anew() -> None:
    slots, lanes = Slots(2), [Lane(), Lane(), Lane()]
    for lane in (lanes[0], lanes[1], lanes[0]):
        await use(slots, lane)
    taken = lanes[1].slot
    assert await use(slots, lanes[2]) == (taken, False)
    assert lanes[1].slot is None
    assert slots.evictions == 1
    assert (await use(slots, lanes[1]))[1] is False


async def test_a_lane_that_is_gone_leaves_its_slot_free() -> None:
    slots, kept = Slots(2), Lane()
    await use(slots, kept)
    gone = Lane()
    await use(slots, gone)
    del gone
    gc.collect()
    await use(slots, Lane())
    assert kept.slot is not None
    assert slots.evictions == 0


async def test_a_lane_waits_while_all_slots_are_at_work() -> None:
    slots, one, two = Slots(1), Lane(), Lane()
    async with slots.holding(one, ""):
        waiting = asyncio.create_task(use(slots, two))
        await asyncio.sleep(0)
        assert not waiting.done()
        given_up = asyncio.create_task(use(slots, Lane()))
        await asyncio.sleep(0)
        given_up.cancel()
    assert (await waiting)[0] == 0
    assert one.slot is None


async def test_prefixes_are_shared_only_where_that_is_wanted() -> None:
    for share in (False, True):
        slots = Slots(1, share_prefix=share)
        first = Lane()
        first.transcript.append("head ", [1, 2])
        await use(slots, first, "head one")
        del first
        gc.collect()
        assert (await use(slots, Lane(), "head two"))[1] is share
        assert (await use(slots, Lane(), "other"))[1] is False


def test_a_key_finds_its_lane_again_once_nobody_holds_it() -> None:
    keyed = Keyed(most=2)
    held = keyed.hold("k")
    lane = held.lane
    assert keyed.hold("k").lane is not lane, "two holders never share a lane"
    del held
    again = Keyed()
    first = again.hold("k")
    lane = first.lane
    del first
    gc.collect()
    assert again.hold("k").lane is lane
    assert again.hold(None).lane is not lane
