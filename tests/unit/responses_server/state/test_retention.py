"""What lanes remember is bounded by count, bytes and age, and goes in a set order."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.state.retention import Bounds, Lane, Retention
from tests.support.system.waiting import eventually


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Lanes:
    """Stands for the lanes of all connections: what they hold, and which of them can't let go now."""

    def __init__(self, retention: Retention) -> None:
        self.retention = retention
        self.held: dict[Lane, str] = {}
        self.gone: list[str] = []
        self.pinned: set[str] = set()
        self._number = 0

    def make(self, name: str, size: int = 10) -> str:
        lane = ("conn", name)
        self._number += 1
        made = f"resp_{self._number}"
        self.held[lane] = made

        def evict(response_id: str) -> bool:
            if self.held.get(lane) != response_id or response_id in self.pinned:
                return False
            del self.held[lane]
            self.gone.append(response_id)
            return True

        self.retention.keep(lane, made, size, evict)
        return made


async def test_the_oldest_go_where_there_are_too_many() -> None:
    lanes = Lanes(Retention(Bounds(heads=3, age_s=0), Clock()))
    first, second, third = (lanes.make(name) for name in "abc")
    again = lanes.make("a")
    assert lanes.gone == [], "a lane has one head, and a new one replaces it"
    lanes.make("d")
    assert lanes.gone == [second]
    lanes.make("e")
    assert lanes.gone == [second, third]
    assert first not in lanes.gone
    assert again in lanes.held.values()
    assert (len(lanes.retention), lanes.retention.bytes, lanes.retention.evicted) == (3, 30, 2)


async def test_bytes_are_bounded_and_one_that_is_too_large_is_not_kept() -> None:
    lanes = Lanes(Retention(Bounds(bytes=100, age_s=0), Clock()))
    small = lanes.make("a", 40)
    other = lanes.make("b", 60)
    assert lanes.gone == []
    lanes.make("a", 41)
    assert lanes.gone == [other]
    lanes.retention.drop(("conn", "a"))
    assert lanes.retention.bytes == 0
    huge = lanes.make("c", 101)
    assert lanes.gone == [other, huge]
    assert small not in lanes.held.values()


async def test_age_goes_before_all_else_and_needs_no_call() -> None:
    clock = Clock()
    retention = Retention(Bounds(heads=2, age_s=0.02), clock)
    lanes = Lanes(retention)
    old = lanes.make("a")
    clock.now_s += 0.01
    young = lanes.make("b")
    clock.now_s += 0.01
    await eventually(lambda: lanes.gone)
    assert lanes.gone == [old]
    clock.now_s += 1.0
    await eventually(lambda: len(lanes.gone) == 2)
    assert lanes.gone == [old, young]
    assert len(retention) == 0
    retention.close()


async def test_one_that_is_waited_for_is_passed_over() -> None:
    lanes = Lanes(Retention(Bounds(heads=1, age_s=0), Clock()))
    waited_for = lanes.make("a")
    lanes.pinned.add(waited_for)
    lanes.make("b")
    assert lanes.gone == []
    lanes.pinned.clear()
    lanes.make("b")
    assert lanes.gone == [waited_for]


_steps = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 60), st.integers(0, 4)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(_steps, st.integers(1, 4), st.integers(20, 120))
def test_the_bounds_hold_after_every_step(steps: list[tuple[str, int, int]], heads: int, size: int) -> None:
    async def run() -> None:
        clock = Clock()
        retention = Retention(Bounds(heads=heads, bytes=size, age_s=5.0), clock)
        lanes = Lanes(retention)
        for name, bytes_, pause_s in steps:
            clock.now_s += pause_s
            lanes.make(name, bytes_)
            assert len(lanes.held) == len(retention) <= heads
            assert retention.bytes <= size
            assert lanes.gone == sorted(lanes.gone, key=lambda made: int(made.removeprefix("resp_")))
        retention.close()

    asyncio.run(run())
