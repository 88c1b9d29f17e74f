"""Hubs on a real PostgreSQL: several on one database, one that goes away and comes back, and what it says when it
can't begin."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from agent_core.clock import SystemClock
from agent_core.errors import AuthError, LooplineError, ServiceUnreachable, StateError
from agent_core.telemetry.events import Event
from agent_core.telemetry.rollup.rollup import Rollup
from dashboard.hub.core import Hub
from dashboard.hub.ingest.ndjson import Batch
from dashboard.hub.people.auth import add_token, revoke_token
from dashboard.hub.settings import HubSettings
from dashboard.hub.sharing import Sharing
from dashboard.hub.store.cell_codec import encode_cell
from dashboard.hub.store.opening import open_people, open_store
from dashboard.hub.store.port import Shared, Store
from dashboard.hub.store.records import LEVELS, Cell, FindingQuery, TurnQuery
from dashboard.web import command
from tests.support.hub.stores import agent_scene, batch_of, ndjson, work
from tests.support.system.postgres import PostgresServer, running_postgres
from tests.support.system.waiting import WAIT_S
from tests.support.telemetry.scene import HandClock
from tests.support.web.running import running_site

ALL = 1 << 40


class NowClock(HandClock):
    """Stands at the time of the scenes, and sleeps for real."""

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)


@contextlib.asynccontextmanager
async def hub_on(url: str, folder: Path) -> AsyncIterator[Hub]:
    store = open_store(url, folder)
    hub = Hub(store, NowClock(), HubSettings())
    try:
        await hub.start()
        yield hub
    finally:
        await hub.stop()
        store.close()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


def day_cell(hub: Hub, team: str = "blue") -> Cell:
    merged = Cell()
    for _, _, cell in hub.store.cells(86_400, 0, ALL, team):
        merged.merge(cell)
    return merged


def assert_recount(hub: Hub, events: list[Event]) -> None:
    """The roll-ups are what the events alone give, and each event is there once."""
    expected = Rollup().fold_all(events).groups.total
    figures = day_cell(hub).figures
    for name in ("calls", "turns", "input_tokens", "output_tokens", "cost_nano", "bytes_up", "creates"):
        assert getattr(figures, name) == getattr(expected, name), name
    assert len(list(hub.store.events_between(0, 1 << 60, "blue"))) == len(events)


async def until(ask: Callable[[], Awaitable[bool]]) -> None:
    """Ask again and again until the answer is yes."""
    async with asyncio.timeout(WAIT_S):
        while not await ask():  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(0.1)


def parts_of(events: list[Event], size: int) -> list[Batch]:
    return [batch_of(events[start : start + size]) for start in range(0, len(events), size)]


async def test_any_hub_takes_any_batch_and_all_counts_once(postgres: PostgresServer, tmp_path: Path) -> None:
    scene = agent_scene()
    for _ in range(3):
        work(scene)
    url = postgres.database()
    async with hub_on(url, tmp_path) as one, hub_on(url, tmp_path) as other:
        for number, batch in enumerate(parts_of(scene.events, 7)):
            hubs = (one, other) if number % 3 == 0 else (other, one)
            assert (await hubs[0].accept("blue", "ann", batch)).acked == batch.last_seq
            if number % 2 == 0:  # its answer was lost: it comes again, elsewhere
                assert (await hubs[1].accept("blue", "ann", batch)).acked == batch.last_seq
        for hub in (one, other):
            assert_recount(hub, scene.events)
            assert await hub.acked_now("blue", "ann", scene.events[0].source) == scene.events[-1].seq


async def test_a_batch_that_two_hubs_fold_at_once_counts_once(postgres: PostgresServer, tmp_path: Path) -> None:
    scenes = [agent_scene(number) for number in range(1, 5)]
    for scene in scenes:
        work(scene)
    url = postgres.database()
    async with hub_on(url, tmp_path) as one, hub_on(url, tmp_path) as other:
        for batches in zip(*(parts_of(scene.events, 15) for scene in scenes), strict=False):
            taken = [hub.accept("blue", "ann", batch) for batch in batches for hub in (one, other)]
            for answer in await asyncio.gather(*taken):
                assert answer.acked > 0
        told = [event for scene in scenes for event in scene.events]
        expected = sum(Rollup().fold_all(scene.events).groups.total.calls for scene in scenes)
        assert len(list(one.store.events_between(0, 1 << 60, "blue"))) == len(told)
        assert day_cell(one).figures.calls == expected


async def test_a_source_of_two_identities_at_two_hubs_is_two(postgres: PostgresServer, tmp_path: Path) -> None:
    scene = agent_scene()
    work(scene)
    url = postgres.database()
    async with hub_on(url, tmp_path) as one, hub_on(url, tmp_path) as other:
        await one.accept("blue", "ann", batch_of(scene.events))
        await other.accept("blue", "eve", batch_of(scene.events[:5]))
        assert await other.acked_now("blue", "eve", scene.events[0].source) == scene.events[4].seq
        assert await one.acked_now("blue", "ann", scene.events[0].source) == scene.events[-1].seq
        assert sorted(record.agent for record in one.store.sources()) == ["ann", "eve"]


async def test_while_the_database_is_away_nothing_is_acknowledged_and_then_it_goes_on(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    scene = agent_scene()
    for _ in range(2):
        work(scene)
    first, second = parts_of(scene.events, len(scene.events) // 2 + 1)
    url = own_server.database()
    async with running_site(tmp_path, store=url, clock=SystemClock()) as site, site.client(site.ingest_token) as agent:
        assert (await agent.post("/api/ingest", content=ndjson(first.events))).json()["acked"] == first.last_seq
        own_server.stop()
        for _ in range(3):
            answer = await agent.post("/api/ingest", content=ndjson(second.events))
            assert answer.status_code == 503, answer.text
            assert int(answer.headers["retry-after"]) > 0
        assert (await agent.get("/healthz")).status_code == 200
        own_server.start()

        async def taken() -> bool:
            answer = await agent.post("/api/ingest", content=ndjson(second.events))
            return answer.status_code == 200 and answer.json()["acked"] == second.last_seq

        await until(taken)
        bodies = list(site.parts.hub.store.events_between(0, 1 << 60, None))
        assert len(bodies) == len(scene.events)


async def test_a_setting_and_a_revoked_token_reach_the_other_hub(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.database()
    async with (
        running_site(tmp_path / "a", store=url) as one,
        running_site(tmp_path / "b", store=url) as other,
    ):
        token = add_token(one.parts.people, SystemClock(), "ann", "viewer", "blue")
        async with other.client(token) as viewer, one.client(one.secret) as admin:
            assert (await viewer.get("/api/turns")).status_code == 200
            assert (await admin.put("/api/settings", json={"raw_days": 7})).status_code == 200

            async def applied() -> bool:
                return other.parts.hub.settings.raw_days == 7

            await until(applied)
            revoke_token(one.parts.people, SystemClock(), "ann")

            async def refused() -> bool:
                return (await viewer.get("/api/turns")).status_code == 401

            await until(refused)


async def test_each_hub_shows_what_the_other_took(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, url = agent_scene(), postgres.database()
    work(scene)
    running = scene.start_turn()
    scene.send(reuse="first")
    async with hub_on(url, tmp_path) as one, hub_on(url, tmp_path) as other:
        sharings = [Sharing(one, shared(one)), Sharing(other, shared(other))]
        for each in sharings:
            await each.start()
        try:
            position = other.live.cursor
            await one.accept("blue", "ann", batch_of(scene.events))

            async def shown() -> bool:
                held = [turn for member in other.roster.members("blue") for turn in member.state.running]
                return held == [running]

            await until(shown)
            other.live.tick()
            changed = other.live.read(position, "blue")
            assert ("blue", running) in changed.ids
            assert len(changed.ended) == 1
            assert other.recent("blue").reused(other.now_ns() // 10**9) == one.recent("blue").reused(
                one.now_ns() // 10**9
            )
            sent = len(scene.events)
            scene.finish_turn("completed")
            await other.accept("blue", "ann", batch_of(scene.events[sent:]))
            assert other.writing.moves == {}  # it knew the source as it was

            async def ended() -> bool:
                return not any(member.state.running for member in one.roster.members("blue"))

            await until(ended)
            assert_recount(one, scene.events)

            monkeypatch.setattr("dashboard.hub.sharing.MAX_BEHIND", 3)
            position = one.live.cursor
            begun_anew = sharings[0].begun_anew
            sent = len(scene.events)
            work(scene)
            await other.accept("blue", "ann", batch_of(scene.events[sent:]))

            async def began_anew() -> bool:
                return sharings[0].begun_anew > begun_anew

            await until(began_anew)
            assert one.live.read(position, "blue").resync
            assert_recount(one, scene.events)
        finally:
            for each in sharings:
                await each.stop()


async def test_a_folder_moves_into_a_database_whole_and_the_hub_goes_on(
    postgres: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, url = tmp_path / "hub", postgres.database()
    scene = agent_scene()
    work(scene)
    work(scene, status="failed")
    people = open_people(str(folder), tmp_path)
    token = add_token(people, SystemClock(), "ann", "viewer", "blue")
    people.put_value("settings", b'{"raw_days":9}')
    people.close()
    async with hub_on(str(folder), tmp_path) as hub:
        await hub.accept("blue", "ann", batch_of(scene.events))
        before = whole(hub.store)
    assert command.move_store(str(folder), url) == 0
    assert f"{len(scene.events)} events" in capsys.readouterr().out
    async with hub_on(url, tmp_path) as hub:
        assert whole(hub.store) == before
        assert_recount(hub, scene.events)
        sent = len(scene.events)
        work(scene)
        await hub.accept("blue", "ann", batch_of(scene.events[sent - 3 :]))
        assert hub.writing.moves == {}
        assert_recount(hub, scene.events)
    async with running_site(tmp_path, store=url) as site, site.client(token) as viewer:
        assert site.parts.hub.settings.raw_days == 9
        assert (await viewer.get("/api/turns")).status_code == 200
    with pytest.raises(StateError):
        command.move_store(str(folder), url)
    with pytest.raises(StateError):
        command.move_store(str(tmp_path / "nowhere"), postgres.database())


def whole(store: Store) -> tuple[object, ...]:
    """All that can be asked of a store."""
    turns = store.turns(TurnQuery(team=None, since_us=0, until_us=1 << 60))
    findings = store.findings(FindingQuery(team=None, since_us=0, until_us=1 << 60))
    cells = [
        (level, bucket, dims, encode_cell(cell))
        for level in LEVELS
        for bucket, dims, cell in store.cells(level, 0, ALL, None)
    ]
    sources = sorted(store.sources(), key=lambda record: record.source)
    owners = store.owners("blue", [turn.turn for turn in turns])
    return list(store.events_between(0, 1 << 60, None)), turns, findings, sorted(cells), sources, owners, store.days()


def shared(hub: Hub) -> Shared:
    assert isinstance(hub.store, Shared)
    return hub.store


def newer(url: str) -> str:
    open_store(url, Path("/")).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO loopline_hub.schema_version VALUES (99)")
    return url


def test_what_keeps_it_from_beginning_is_told_in_one_line(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.database()
    bare = re.sub(r":[^:@/]*@", "@", url)
    cases: list[tuple[str, type[LooplineError], int]] = [
        (url.replace(postgres.password, "wrong-secret"), AuthError, 2),
        (bare, AuthError, 2),
        (url + "_nowhere", AuthError, 2),
        (f"postgresql://u:wrong-secret@127.0.0.1:{free_port()}/x", ServiceUnreachable, 3),
        (newer(postgres.database()), StateError, 2),
    ]
    for address, kind, exit_code in cases:
        for opened in (open_store, open_people):
            with pytest.raises(kind) as caught:
                opened(address, tmp_path)
            told = f"{caught.value.message} {caught.value.hint}"
            assert caught.value.exit_code == exit_code
            assert "\n" not in told
            assert "wrong-secret" not in told
            assert postgres.password not in told
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    open_store(bare, tmp_path).close()
    monkeypatch.delenv("PGPASSWORD")
    services = tmp_path / "services"
    services.write_text(f"[hub]\npassword={postgres.password}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    open_store(f"{bare}?service=hub", tmp_path).close()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
