"""The hub on a real store: events taken once, figures right after restarts, hostile sources bounded."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import msgspec
import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.events import Event
from agent_core.telemetry.rollup.figures import OTHER
from agent_core.telemetry.rollup.rollup import Rollup
from dashboard.hub import writing
from dashboard.hub.core import Hub
from dashboard.hub.frames import Frames
from dashboard.hub.ingest.names import LIMITS
from dashboard.hub.ingest.ndjson import Batch, Refused
from dashboard.hub.queries.history import ended_turns
from dashboard.hub.settings import HubSettings, TargetSettings
from dashboard.hub.sources.state import MAX_OPEN_TURNS, MAX_WEIGHT
from dashboard.hub.store.records import Cell, FindingQuery, TurnQuery
from dashboard.hub.store.sqlite_store import SqliteStore
from tests.support.hub.stores import agent_scene, batch_of, running_hub, work
from tests.support.telemetry.scene import HandClock, Scene

ALL = 1 << 40


class NowClock(HandClock):
    """Stands at the time of the scenes, and sleeps for real."""

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)


def day_cell(hub: Hub, team: str = "blue") -> Cell:
    merged = Cell()
    for _, _, cell in hub.store.cells(86_400, 0, ALL, team):
        merged.merge(cell)
    return merged


def running_scene(number: int = 1) -> Scene:
    """A source with one turn that runs a call."""
    scene = agent_scene(number)
    scene.start_turn()
    call = scene.send(reuse="first")
    scene.wait(20)
    scene.delta(call, 20)
    return scene


async def test_the_figures_are_those_of_the_events(tmp_path: Path) -> None:
    scene = agent_scene()
    for _ in range(4):
        work(scene)
    expected = Rollup().fold_all(scene.events).groups.total
    async with running_hub(tmp_path, NowClock()) as hub:
        assert (await hub.accept("blue", "ann", batch_of(scene.events))).acked == scene.events[-1].seq
        cell = day_cell(hub)
        for name in ("calls", "turns", "input_tokens", "output_tokens", "cost_nano", "bytes_up", "creates"):
            assert getattr(cell.figures, name) == getattr(expected, name), name
        assert cell.figures.reuse == expected.reuse
        assert cell.figures.percentile("ttft", 0.95) == expected.percentile("ttft", 0.95)
        assert sum(cell.figures.stages_ns.values()) == expected.turn_ns
        assert cell.savings.bytes_saved == 4 * (9_000 + 9_900)


async def test_sent_twice_or_in_any_overlap_it_counts_once(tmp_path: Path) -> None:
    scene = agent_scene()
    for _ in range(3):
        work(scene)
    events = scene.events
    async with running_hub(tmp_path, NowClock()) as hub:
        for start, end in ((0, 10), (0, 10), (5, 20), (3, 8), (0, len(events))):
            acked = await hub.accept("blue", "ann", batch_of(events[start:end]))
            assert acked == (events[end - 1].seq, 0)
        assert day_cell(hub).figures.turns == 3
        assert hub.counters.events == len(events)
        assert len(list(hub.store.events_between(0, 1 << 60, "blue"))) == len(events)
        assert hub.acked("blue", "ann", events[0].source) == events[-1].seq


async def test_a_gap_and_a_late_start_are_taken(tmp_path: Path) -> None:
    scene = agent_scene()
    work(scene)
    async with running_hub(tmp_path, NowClock()) as hub:
        assert (await hub.accept("blue", "ann", batch_of(scene.events[8:]))).acked == scene.events[-1].seq


@pytest.mark.parametrize("cut", range(1, 18))
async def test_a_restart_anywhere_in_a_turn_loses_and_doubles_nothing(tmp_path: Path, cut: int) -> None:
    scene = agent_scene()
    work(scene)
    expected = Rollup().fold_all(scene.events).groups.total
    async with running_hub(tmp_path, NowClock()) as hub:
        await hub.accept("blue", "ann", batch_of(scene.events[:cut]))
    async with running_hub(tmp_path, NowClock()) as hub:
        assert hub.acked("blue", "ann", scene.events[0].source) == scene.events[cut - 1].seq
        await hub.accept("blue", "ann", batch_of(scene.events))
        cell = day_cell(hub)
        assert (cell.figures.calls, cell.figures.turns) == (expected.calls, expected.turns)
        assert cell.figures.cost_nano == expected.cost_nano
        assert sum(cell.figures.stages_ns.values()) == expected.turn_ns
        [turn] = hub.store.turns(TurnQuery(team="blue", since_us=0, until_us=1 << 60))
        assert (turn.status, turn.project) == ("completed", "shop")


async def test_what_ran_when_the_hub_ended_is_shown_when_it_is_back(tmp_path: Path) -> None:
    scene = running_scene()
    async with running_hub(tmp_path, NowClock()) as hub:
        await hub.accept("blue", "ann", batch_of(scene.events))
    async with running_hub(tmp_path, NowClock()) as hub:
        [row] = Frames(hub).snapshot("blue").running
        assert (row.turn, row.project, row.model, row.ttft) == (scene.turn, "shop", "gpt-5", "20 ms")
        assert day_cell(hub).figures.calls == 0


async def test_a_quiet_source_leaves_memory_and_comes_back_with_its_context(tmp_path: Path) -> None:
    clock = NowClock()
    scene = agent_scene()
    work(scene)
    async with running_hub(tmp_path, clock) as hub:
        await hub.accept("blue", "ann", batch_of(scene.events))
        clock.wait(31 * 60_000)
        await hub.keep_house_once()
        assert len(hub.roster) == 0
        sent = len(scene.events)
        work(scene)
        await hub.accept("blue", "ann", batch_of(scene.events[sent:]))
        turns = hub.store.turns(TurnQuery(team="blue", since_us=0, until_us=1 << 60))
        assert [turn.project for turn in turns] == ["shop", "shop"]
        assert {dims.project for _, dims, _ in hub.store.cells(60, 0, ALL, "blue")} == {"shop"}


async def test_another_teams_source_of_the_same_name_is_another_source(tmp_path: Path) -> None:
    scene = agent_scene()
    work(scene)
    async with running_hub(tmp_path, NowClock()) as hub:
        await hub.accept("blue", "ann", batch_of(scene.events[:5]))
        await hub.accept("red", "eve", batch_of(scene.events))
        assert hub.acked("blue", "ann", scene.events[0].source) == 5
        assert hub.acked("red", "eve", scene.events[0].source) == scene.events[-1].seq
        assert hub.acked("red", "ann", scene.events[0].source) == 0
        frames = Frames(hub)
        assert frames.snapshot("red").running == []
        assert [row.turn for row in frames.snapshot("blue").running] == [scene.events[2].turn]
        assert len(frames.snapshot(None).running) == 1


async def test_ids_that_two_teams_share_stay_apart(tmp_path: Path) -> None:
    first, second = Scene(source="h1-1-1", session="s"), Scene(source="h2-2-2", session="s")
    async with running_hub(tmp_path, NowClock()) as hub:
        for team, scene, project in (("blue", first, "mine"), ("red", second, "theirs")):
            scene.start_session(project)
            work(scene)
            await hub.accept(team, "x", batch_of(scene.events))
        for team, project in (("blue", "mine"), ("red", "theirs")):
            found = hub.store.turn("s_turn_1", team)
            assert found is not None
            assert found.project == project
            [row] = await ended_turns(hub, team, 10)
            assert row.project == project


async def test_names_without_end_become_other(tmp_path: Path) -> None:
    scene = agent_scene()
    scene.start_turn()
    for number in range(3_000):
        call = scene.send(f"c{number}", model=f"model-{number}")
        scene.complete(call, 5.0, 1.0, input_tokens=1, output_tokens=1)
    async with running_hub(tmp_path, NowClock()) as hub:
        for start in range(0, len(scene.events), 2_000):
            await hub.accept("blue", "eve", batch_of(scene.events[start : start + 2_000]))
        models = {dims.model for _, dims, _ in hub.store.cells(86_400, 0, ALL, "blue")}
        assert OTHER in models
        assert len(models) <= LIMITS["model"] + 1
        assert day_cell(hub).figures.calls == 3_000
        assert len(hub.since.groups) <= LIMITS["model"] + 1


async def test_open_turns_without_end_are_bounded_and_others_unharmed(tmp_path: Path) -> None:
    flood, honest = agent_scene(1), running_scene(2)
    for number in range(MAX_OPEN_TURNS * 3):
        flood.start_turn(f"t{number}")
    async with running_hub(tmp_path, NowClock()) as hub:
        await hub.accept("blue", "ann", batch_of(honest.events))
        await hub.accept("blue", "eve", batch_of(flood.events))
        held = [len(member.state.running) for member in hub.roster.members("blue")]
        assert sorted(held) == [1, MAX_OPEN_TURNS]
        assert honest.turn in {turn for member in hub.roster.members("blue") for turn in member.state.running}


async def test_ids_without_end_make_a_source_begin_anew(tmp_path: Path) -> None:
    scene = agent_scene()
    async with running_hub(tmp_path, NowClock()) as hub:
        sent = 0
        for start in range(0, MAX_WEIGHT + 4_000, 4_000):
            for number in range(4_000):
                scene.emit(ev.ConnectionOpened(connection=f"c{start + number}", handshake_ms=1.0))
            await hub.accept("blue", "eve", batch_of(scene.events[sent:]))
            sent = len(scene.events)
        [member] = hub.roster.members("blue")
        assert member.weight < MAX_WEIGHT
        assert len(member.state.rollup.connections) < MAX_WEIGHT
        work(scene)
        await hub.accept("blue", "eve", batch_of(scene.events[sent:]))
        [turn] = hub.store.turns(TurnQuery(team="blue", since_us=0, until_us=1 << 60))
        assert turn.project == "shop"


async def test_new_sources_without_end_are_refused_for_their_team_only(tmp_path: Path) -> None:
    async with running_hub(tmp_path, NowClock()) as hub:
        hub._new_sources = type(hub._new_sources)()
        hub._new_sources._burst = 3.0
        for number in range(3):
            await hub.accept("blue", "eve", batch_of(agent_scene(number).events))
        with pytest.raises(Refused) as caught:
            await hub.accept("blue", "eve", batch_of(agent_scene(9).events))
        assert caught.value.status == 429
        assert caught.value.retry_after_s
        await hub.accept("red", "ann", batch_of(agent_scene(10).events))


async def test_events_that_fit_but_make_no_sense_are_left_out_and_counted(tmp_path: Path) -> None:
    scene = agent_scene()
    scene.start_turn()
    call = scene.send()
    events: list[Event] = [msgspec.structs.replace(event, mono_ns=10**15) for event in scene.events]
    late = scene.events[-1].seq
    events.append(
        msgspec.structs.replace(events[-1], seq=late + 1, mono_ns=0, time="2021-01-01T00:00:00Z", call=call, attempt=2)
    )
    delta = ev.CallFirstDelta(latency_ms=1, channel="text", ttft_ms=1)
    events.append(
        msgspec.structs.replace(
            delta, v=1, source=events[0].source, seq=late + 2, time=events[0].time, mono_ns=1, call=call,
            turn=scene.turn, session=scene.session,
        )
    )  # fmt: skip
    done = ev.TurnFinished(status="completed", duration_ms=-5, stages_ms={"inference": -9.0}, calls=1, tools=0)
    events.append(
        msgspec.structs.replace(
            done, v=1, source=events[0].source, seq=late + 3, time=events[0].time, mono_ns=0, turn=scene.turn
        )
    )
    async with running_hub(tmp_path, NowClock()) as hub:
        assert (await hub.accept("blue", "eve", batch_of(events))).acked == late + 3
        honest = agent_scene(2)
        work(honest)
        await hub.accept("blue", "ann", batch_of(honest.events))
        assert day_cell(hub).figures.calls >= 3


async def test_troubles_are_kept_and_told(tmp_path: Path) -> None:
    scene = agent_scene()
    scene.start_turn()
    call = scene.send()
    scene.complete(call, 9.0, status="failed", error_code="rate_limited")
    scene.finish_turn("failed")
    async with running_hub(tmp_path, NowClock()) as hub:
        start = hub.live.cursor
        await hub.accept("blue", "ann", batch_of(scene.events))
        hub.live.tick()
        changed = hub.live.read(start, "blue")
        assert [msgspec.json.decode(one)["code"] for one in changed.errors] == ["rate_limited"]
        assert [msgspec.json.decode(one)["status"] for one in changed.ended] == ["failed"]
        [found] = hub.store.findings(FindingQuery(team="blue", since_us=0, until_us=1 << 60))
        assert (found.code, found.severity) == ("rate_limited", "error")


async def test_while_the_disk_takes_nothing_agents_wait_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "RETRY_S", 0.05)
    scene = agent_scene()
    work(scene)
    store = SqliteStore(tmp_path, busy_s=0.05)
    hub = Hub(store, NowClock(), HubSettings())
    await hub.start()
    try:
        await hub.accept("blue", "ann", batch_of(scene.events[:4]))
        other = sqlite3.connect(tmp_path / "rollups.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Refused) as caught:
            await hub.accept("blue", "ann", batch_of(scene.events))
        assert caught.value.status == 503
        assert caught.value.retry_after_s
        assert hub.acked("blue", "ann", scene.events[0].source) == 4
        assert await ended_turns(hub, "blue", 10), "pages go on"
        other.execute("ROLLBACK")
        other.close()
        async with asyncio.timeout(10):
            assert (await hub.accept("blue", "ann", batch_of(scene.events))).acked == scene.events[-1].seq
        assert day_cell(hub).figures.turns == 1
        assert day_cell(hub).figures.calls == 3
        assert hub.writing.waiting_events == 0
    finally:
        await hub.stop()
        store.close()


async def test_a_hub_that_is_too_far_behind_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MAX_WAITING_EVENTS", 10)
    monkeypatch.setattr(writing, "RETRY_S", 30.0)
    store = SqliteStore(tmp_path, busy_s=0.05)
    hub = Hub(store, NowClock(), HubSettings())
    await hub.start()
    other = sqlite3.connect(tmp_path / "rollups.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        scene = agent_scene()
        work(scene)
        with pytest.raises(Refused):
            await hub.accept("blue", "ann", batch_of(scene.events))
        with pytest.raises(Refused) as caught:
            await hub.accept("blue", "ann", batch_of(agent_scene(2).events))
        assert caught.value.code == "store_behind"
        assert hub.writing.waiting_events == len(scene.events)
    finally:
        other.execute("ROLLBACK")
        other.close()
        await hub.stop()
        store.close()


async def test_stopping_writes_what_waits(tmp_path: Path) -> None:
    scene = agent_scene()
    work(scene)
    async with running_hub(tmp_path, NowClock()) as hub:
        taking = asyncio.create_task(hub.accept("blue", "ann", batch_of(scene.events)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert (await taking).acked == scene.events[-1].seq
    async with running_hub(tmp_path, NowClock()) as hub:
        assert day_cell(hub).figures.turns == 1


async def test_settings_apply_to_what_ends_from_then_on(tmp_path: Path) -> None:
    scene = agent_scene()
    work(scene)
    async with running_hub(tmp_path, NowClock()) as hub:
        await hub.accept("blue", "ann", batch_of(scene.events))
        hub.apply_settings(
            HubSettings(targets=TargetSettings(ttft_ms=1.0), prices={"gpt-5": {"input": 0.0, "output": 0.0}})
        )
        before = day_cell(hub).figures
        sent = len(scene.events)
        work(scene)
        await hub.accept("blue", "ann", batch_of(scene.events[sent:]))
        after = day_cell(hub).figures
        assert (before.turns_good, after.turns_good, after.turns) == (1, 1, 2)
        assert after.cost_nano == before.cost_nano > 0


async def test_a_batch_that_holds_only_later_types_moves_the_cursor(tmp_path: Path) -> None:
    async with running_hub(tmp_path, NowClock()) as hub:
        assert (await hub.accept("blue", "ann", Batch("h1-1-1", [], 7, 7))).acked == 7
        assert hub.acked("blue", "ann", "h1-1-1") == 7


async def test_many_agents_at_once_are_all_counted(tmp_path: Path) -> None:
    scenes = [agent_scene(number) for number in range(1, 41)]
    for scene in scenes:
        work(scene)

    async def push(hub: Hub, scene: Scene) -> None:
        for start in range(0, len(scene.events), 5):
            await hub.accept("blue", f"agent{scene.session}", batch_of(scene.events[start : start + 5]))

    async with running_hub(tmp_path, NowClock()) as hub, asyncio.timeout(30):
        await asyncio.gather(*(push(hub, scene) for scene in scenes))
        assert day_cell(hub).figures.turns == 40
        assert hub.counters.events == sum(len(scene.events) for scene in scenes)


async def test_a_frame_is_shared_by_all_who_see_the_same(tmp_path: Path) -> None:
    async with running_hub(tmp_path, NowClock()) as hub:
        frames, start = Frames(hub), hub.live.cursor
        await hub.accept("blue", "ann", batch_of(running_scene().events))
        hub.live.tick()
        first, second = frames.next(start, "blue", ()), frames.next(start, "blue", ())
        assert first is second
        assert first is not None
        assert frames.next(start, "red", ()) is None
        data = msgspec.json.decode(first.data)
        assert data["shown"] == [data["rows"][0]["turn"]]
