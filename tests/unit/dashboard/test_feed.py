"""Feeds over real journals: live, late, of processes that die, and played again."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import msgspec
import pytest

from agent_core.clock import rfc3339
from agent_core.errors import StateError
from agent_core.telemetry import events as ev
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.rollup.axis import parse_time_ns
from dashboard.feed import IDLE_GAP_NS, Batch, EventFeed, JournalFollower, Replay
from dashboard.state.fold import State
from tests.support.telemetry.recorded_feed import SteppingClock, recorded_feed
from tests.support.telemetry.scene import Scene

FEED = recorded_feed()
WAIT_S = 20.0


def write(state_dir: Path, events: Sequence[ev.Event]) -> None:
    """Each source's events into a journal of its own, as its process would."""
    for source in {event.source for event in events}:
        sink = JournalSink(state_dir, source)
        for event in events:
            if event.source == source:
                sink.emit(event)
        assert sink.flush()
        sink.close()


async def gather(batches: AsyncGenerator[Batch, None], count: int) -> list[Batch]:
    """Batches until there are `count` events."""
    found: list[Batch] = []
    async with asyncio.timeout(WAIT_S):
        async for batch in batches:
            found.append(batch)
            if sum(len(one.events) for one in found) >= count:
                break
    return found


async def played(feed: EventFeed) -> list[Batch]:
    async with asyncio.timeout(WAIT_S), contextlib.aclosing(feed.batches()) as batches:
        return [batch async for batch in batches]


async def test_what_is_written_is_told_late_or_live(tmp_path: Path) -> None:
    follower = JournalFollower(tmp_path)
    async with contextlib.aclosing(follower.batches()) as batches:
        before = asyncio.create_task(gather(batches, 3))
        await asyncio.sleep(0)  # nothing is there yet, not even the folder
        sink = JournalSink(tmp_path, FEED[0].source)
        mine = [event for event in FEED if event.source == FEED[0].source]
        for event in mine[:3]:
            sink.emit(event)
        assert [event.seq for batch in await before for event in batch.events] == [1, 2, 3]
        for event in mine[3:10]:
            sink.emit(event)
        assert [event.seq for batch in await gather(batches, 7) for event in batch.events] == list(range(4, 11))
        sink.close()
        [last] = await gather(batches, 1)
        assert [type(event) for event in last.events] == [ev.TurnFinished], "the turn that was open"
        assert last.ended == [FEED[0].source]
    assert [event.seq for event in follower.history()][:10] == list(range(1, 11))


async def test_sources_of_killed_processes_end_and_their_turns_are_interrupted(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib\n"
        "from agent_core.telemetry.journal.sink import JournalSink\n"
        "from agent_core.telemetry.emitter import Emitter\n"
        "from agent_core.telemetry.events import TurnStarted\n"
        "from agent_core.clock import SystemClock\n"
        "sink = JournalSink(pathlib.Path(sys.argv[1]), 'doomed')\n"
        "Emitter(sink, SystemClock(), 'doomed').emit(TurnStarted(turn='turn_1', session='sess_1'))\n"
        "sink.flush(); print('written', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(  # noqa: ASYNC220  the test waits for one line of it
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with process, contextlib.closing(process.stdout) as output:  # type: ignore[type-var]
        assert output is not None and output.readline()
        async with contextlib.aclosing(JournalFollower(tmp_path).batches()) as batches:
            [batch] = await gather(batches, 1)
            assert (batch.events[0].turn, batch.ended) == ("turn_1", [])
            process.kill()
            process.wait(10)
            [batch] = await gather(batches, 1)
    [finished] = batch.events
    assert isinstance(finished, ev.TurnFinished)
    assert (finished.status, batch.ended) == ("interrupted", ["doomed"])


async def test_earlier_days_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, FEED)
    date = FEED[0].time[:10]
    [mine] = (tmp_path / "telemetry").glob(f"*-{FEED[0].source}.db")
    mine.rename(mine.with_name(mine.name.replace(date, "2026-01-05")))
    async with contextlib.aclosing(JournalFollower(tmp_path, since=date).batches()) as batches:
        found = await gather(batches, 20)
    assert FEED[0].source not in {event.source for batch in found for event in batch.events}


async def test_a_replay_at_once_gives_the_numbers_of_the_live_feed(tmp_path: Path) -> None:
    path = tmp_path / "export.ndjson"
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in FEED))
    replay = Replay(path, speed=0)
    batches = await played(replay)
    state, live = State(), State().apply_all(FEED)
    for batch in batches:
        state.apply_all(batch.events)
    now_ns = replay.now_ns()
    assert replay.finished
    assert now_ns == parse_time_ns(FEED[-1].time)
    ended = [line for line in state.turn_lines(now_ns) if line.turn != "turn_dates"]
    assert ended == [line for line in live.turn_lines(now_ns) if line.turn != "turn_dates"]
    assert state.rollup.turns["turn_dates"].status == "interrupted", "nobody will end it any more"
    assert sorted(batches[-1].ended) == sorted({event.source for event in FEED})


async def test_a_journal_is_played_at_its_own_pace_and_idle_stretches_are_skipped(tmp_path: Path) -> None:
    scene = Scene(source="played")
    scene.start_turn()
    scene.wait(4_000)
    scene.finish_turn()
    scene.wait(3_600_000)
    scene.start_turn()
    scene.wait(2_000)
    scene.finish_turn()
    write(tmp_path, scene.events)
    clock = SteppingClock()
    [path] = (tmp_path / "telemetry").glob("*.db")
    replay = Replay(path, speed=2.0, clock=clock)
    started_ns = clock.mono_ns()
    at: list[tuple[int, float]] = []
    async with asyncio.timeout(WAIT_S), contextlib.aclosing(replay.batches()) as batches:
        async for batch in batches:
            at += [(event.seq, (clock.mono_ns() - started_ns) / 1e9) for event in batch.events]
    assert [seq for seq, _ in at] == [1, 2, 3, 4]
    times = dict(at)
    assert abs(times[2] - 2.0) < 0.2, "4 s at twice the speed"
    assert times[3] - times[2] < IDLE_GAP_NS / 1e9, "an hour in which nothing ran"
    assert abs(times[4] - times[3] - 1.0) < 0.2


async def test_a_paused_replay_stands_still(tmp_path: Path) -> None:
    scene = Scene(source="played")
    scene.start_turn()
    scene.wait(1_000)
    scene.finish_turn()
    path = tmp_path / "x.ndjson"
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in scene.events))
    clock = SteppingClock()
    replay = Replay(path, clock=clock)
    async with asyncio.timeout(WAIT_S), contextlib.aclosing(replay.batches()) as batches:
        first = await anext(batches)
        assert [event.seq for event in first.events] == [1]
        replay.paused = True
        rest = asyncio.ensure_future(anext(batches))
        for _ in range(200):
            await asyncio.sleep(0)
        assert not rest.done() and clock.mono_ns() > 5 * 10**9
        position = replay.now_ns()
        replay.paused = False
        assert [event.seq for event in (await rest).events] == [2]
        assert replay.now_ns() >= position


@pytest.mark.parametrize("content", [None, b"not json\n", b"SQLite format 3\0 but nothing else"])
def test_what_is_no_recording_is_refused_before_anything_is_drawn(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StateError) as told:
        Replay(path)
    assert str(path) in told.value.message


def test_a_clock_that_went_back_does_not_stop_a_replay(tmp_path: Path) -> None:
    scene = Scene(source="played")
    scene.start_turn()
    scene.finish_turn()
    first, second = scene.events
    second = msgspec.structs.replace(second, time=rfc3339(parse_time_ns(first.time) - 10**12))
    path = tmp_path / "x.ndjson"
    path.write_bytes(encode_event(first) + b"\n" + encode_event(second) + b"\n")
    batches = asyncio.run(played(Replay(path, clock=SteppingClock())))
    assert [event.seq for batch in batches for event in batch.events] == [1, 2]
