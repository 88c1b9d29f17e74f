"""The ring that browsers read changes from: nothing lost, nothing doubled, bounded however long one stalls."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.hub.live.ring import MAX_IDS, Live


def ticked(live: Live, *turns: str, team: str = "blue", ended: tuple[bytes, ...] = ()) -> str:
    live.mark(team, set(turns), list(ended), [])
    live.tick()
    return live.cursor


def test_a_reader_gets_each_changed_id_once_and_every_terminal_entry() -> None:
    live = Live()
    start = live.cursor
    ticked(live, "a", "b", ended=(b"1",))
    ticked(live, "a", ended=(b"2", b"2"))
    changed = live.read(start, None)
    assert sorted(changed.ids) == [("blue", "a"), ("blue", "b")]
    assert changed.ended == [b"1", b"2", b"2"]
    assert not changed.resync
    assert live.read(changed.cursor, None).ids == []


def test_a_tick_without_changes_is_none() -> None:
    live = Live()
    before = live.cursor
    assert not live.tick()
    assert live.cursor == before


def test_a_team_never_reads_another_teams_changes() -> None:
    live = Live()
    start = live.cursor
    ticked(live, "secret", team="red", ended=(b"red",))
    changed = live.read(start, "blue")
    assert (changed.ids, changed.ended, changed.errors) == ([], [], [])
    assert changed.cursor == live.cursor
    assert live.read(start, "red").ids == [("red", "secret")]


def test_resuming_inside_the_ring_replays_strictly_after_the_position() -> None:
    live = Live(ring=3)
    cursors = [ticked(live, f"t{number}") for number in range(5)]
    assert [turn for _, turn in live.read(cursors[2], None).ids] == ["t3", "t4"]
    assert [turn for _, turn in live.read(cursors[1], None).ids] == ["t2", "t3", "t4"]
    outside = live.read(cursors[0], None)
    assert outside.resync
    assert outside.cursor == cursors[-1]
    assert outside.ids == []


@pytest.mark.parametrize(
    "position", ["", "x", "-", "0-0", "{epoch}-", "{epoch}--1", "{epoch}-99", "{epoch}-1e3", "{epoch}-٣"]
)
def test_a_position_that_cannot_be_starts_over(position: str) -> None:
    live = Live()
    ticked(live, "a")
    assert live.read(position.format(epoch=live.epoch), None).resync


def test_another_process_has_another_epoch() -> None:
    first, second = Live(), Live()
    assert first.epoch != second.epoch
    assert second.read(first.cursor, None).resync


def test_one_team_in_flood_starts_its_own_readers_over_only() -> None:
    live = Live()
    start = live.cursor
    live.mark("red", {f"t{number}" for number in range(MAX_IDS + 1)}, [], [])
    ticked(live, "a")
    assert live.read(start, "red").resync
    assert live.read(start, "blue").ids == [("blue", "a")]


def test_terminal_entries_bound_the_ring_by_bytes() -> None:
    live = Live(ring=1000, max_bytes=10_000)
    start = live.cursor
    for number in range(100):
        ticked(live, f"t{number}", ended=(b"x" * 1000,))
    assert live.read(start, None).resync
    recent = f"{live.epoch}-95"
    assert len(live.read(recent, None).ended) == 5


async def test_waiting_ends_with_the_next_tick_or_in_time() -> None:
    live = Live()
    assert not await live.wait(0.01)
    async with asyncio.timeout(30):
        waiting = asyncio.create_task(live.wait(60))
        await asyncio.sleep(0)
        ticked(live, "a")
        assert await waiting


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), max_size=20),
    st.lists(st.integers(0, 3), min_size=1, max_size=20),
)
def test_however_a_reader_paces_itself_it_ends_with_what_changed(ticks: list[list[str]], pace: list[int]) -> None:
    live = Live(ring=64)
    position = live.cursor
    got: set[str] = set()
    marked: set[str] = set()
    ended: list[bytes] = []
    for number, turns in enumerate(ticks):
        ticked(live, *turns, ended=(b"%d" % number,))
        marked |= set(turns)
        if pace[number % len(pace)] == 0:
            changed = live.read(position, None)
            position, got = changed.cursor, got | {turn for _, turn in changed.ids}
            ended += changed.ended
    changed = live.read(position, None)
    assert got | {turn for _, turn in changed.ids} == marked
    assert [*ended, *changed.ended] == [b"%d" % number for number in range(len(ticks))]
