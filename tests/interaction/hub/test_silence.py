"""An agent that falls silent: its turns say so, then count as interrupted, and go on when it comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_core.clock import SystemClock
from agent_core.telemetry import events as ev
from dashboard.state.silence import silent_words
from tests.support.hub.stores import batch_of
from tests.support.system.waiting import eventually
from tests.support.telemetry.scene import Scene
from tests.support.web.running import Site, running_site

HTML = {"accept": "text/html"}


class AheadClock(SystemClock):
    """The machine's clock, set ahead by hand."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def wall_ns(self) -> int:
        return super().wall_ns() + round(self.ahead_s * 1e9)


def begun(clock: AheadClock) -> Scene:
    """A turn that has done a call and waits for a tool."""
    scene = Scene(source="h000001-1-000001", session="sess_1")
    scene.clock.set_wall(clock.wall_ns())
    scene.start_session("shop")
    scene.start_turn("turn_1")
    scene.call()
    scene.start_tool("tests", "tool_1")
    return scene


async def push(site: Site, scene: Scene, since: int = 0) -> None:
    await site.hub.accept("local", "ann", batch_of(scene.events[since:]))


async def later(site: Site, clock: AheadClock, seconds: float) -> None:
    clock.ahead_s += seconds
    site.hub.watch_silence()
    site.hub.live.tick()
    await asyncio.sleep(0)


async def turn(site: Site) -> dict[str, object]:
    async with site.client(site.secret) as client:
        found: dict[str, object] = (await client.get("/api/turns/turn_1")).json()["turn"]
    return found


async def counted(site: Site) -> dict[str, int]:
    """Ended turns by status, of all that is written."""
    rows = await site.hub.ask(site.hub.store.cells, 86_400, 0, 1 << 40, None)
    sums: dict[str, int] = {}
    for _, _, cell in rows:
        for status, count in cell.figures.turn_statuses.items():
            sums[status] = sums.get(status, 0) + count
        assert cell.figures.sketches["turn_duration"].count == sum(
            cell.figures.sketches["turn_duration"].to_buckets().values()
        )
    return {status: count for status, count in sums.items() if count}


async def written(site: Site) -> None:
    writing = site.hub.writing
    await eventually(lambda: not (writing.waiting_events or writing._pending or writing._failed), 10)


async def test_a_silent_source_says_so_then_counts_as_interrupted_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    clock = AheadClock()
    async with running_site(tmp_path, clock=clock) as site:
        scene = begun(clock)
        await push(site, scene)
        await later(site, clock, 40)
        assert "silent_s" not in await turn(site)
        assert (await turn(site))["status"] is None

        await later(site, clock, 7)
        found = await turn(site)
        assert isinstance(found["silent_s"], float)
        assert 46 <= found["silent_s"] < 60
        async with site.client(site.secret, **HTML) as client:
            for path in ("/", "/turns/turn_1"):
                assert "not heard of for 1 m" in (await client.get(path)).text, path

        await later(site, clock, 560)
        found = await turn(site)
        assert (found["status"], found["duration_ms"]) == ("interrupted", 50.0), "at its last activity"
        await written(site)
        assert await counted(site) == {"interrupted": 1}
        async with site.client(site.secret) as client:
            now = (await client.get("/api/now")).json()
            assert (now["totals"]["running"], [row["status"] for row in now["ended"]]) == (0, ["interrupted"])
            assert [row["status"] for row in (await client.get("/api/turns")).json()["turns"]] == ["interrupted"]

        scene.wait(610_000)
        scene.emit(ev.SourceAlive())
        await push(site, scene, len(scene.events) - 1)
        found = await turn(site)
        assert (found["status"], found.get("silent_s")) == (None, None)
        assert await counted(site) == {}
        scene.finish_tool("tool_1", 610_000, "tests")
        scene.finish_turn()
        await push(site, scene, len(scene.events) - 2)
        assert (await turn(site))["status"] == "completed"
        assert await counted(site) == {"completed": 1}


async def test_signs_of_life_keep_a_long_tool_running(tmp_path: Path) -> None:
    clock = AheadClock()
    async with running_site(tmp_path, clock=clock) as site:
        scene = begun(clock)
        await push(site, scene)
        for _ in range(50):
            scene.wait(15_000)
            scene.emit(ev.SourceAlive())
            await push(site, scene, len(scene.events) - 1)
            await later(site, clock, 15)
        assert (await turn(site))["status"] is None
        assert "silent_s" not in await turn(site)


@pytest.mark.parametrize("finishes", [True, False])
async def test_it_goes_on_after_a_restart_of_the_hub_too(tmp_path: Path, finishes: bool) -> None:
    clock = AheadClock()
    async with running_site(tmp_path, clock=clock) as site:
        scene = begun(clock)
        await push(site, scene)
        await later(site, clock, 700)
        await written(site)
    clock.ahead_s += 3_600
    async with running_site(tmp_path, clock=clock) as site:
        assert (await turn(site))["status"] == "interrupted"
        scene.wait(4_300_000)
        scene.finish_tool("tool_1", 4_300_000, "tests")
        if finishes:
            scene.finish_turn()
        await push(site, scene, len(scene.events) - (2 if finishes else 1))
        found = await turn(site)
        assert found["status"] == ("completed" if finishes else None)
        assert found["calls"] == 1
        assert await counted(site) == ({"completed": 1} if finishes else {})


async def test_a_hub_that_was_away_waits_before_it_gives_anybody_up(tmp_path: Path) -> None:
    clock = AheadClock()
    async with running_site(tmp_path, clock=clock) as site:
        await push(site, begun(clock))
    clock.ahead_s += 1_200
    async with running_site(tmp_path, clock=clock) as site:
        await later(site, clock, 1)
        found = await turn(site)
        assert found["status"] is None
        assert isinstance(found["silent_s"], float)
        await later(site, clock, 60)
        assert (await turn(site))["status"] == "interrupted"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(45, "1 m"), (89, "1 m"), (90, "2 m"), (600, "10 m"), (7_200, "2 h"), (200_000, "2 d")],
)
def test_in_words(seconds: float, words: str) -> None:
    assert silent_words(seconds) == f"not heard of for {words}"
