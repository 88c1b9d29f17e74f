"""One token can't touch what another brought: sources, sessions, turns, sequences, and what is the whole hub's.

The attacks of somebody in the team: each destroyed a colleague's data or kept it out, while all was acknowledged.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_core.clock import SystemClock
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import CallCompleted, Event, ServiceCall, SessionStarted
from dashboard.hub.ingest.names import LIMITS
from dashboard.hub.ingest.ndjson import MAX_SEQ, MAX_STEP
from dashboard.hub.store.records import FindingQuery, TurnQuery
from dashboard.hub.store.sqlite_files import SCHEMA
from dashboard.hub.store.sqlite_store import SqliteStore
from dashboard.state.fold import State
from dashboard.tui.hub_feed import HubFollower
from tests.support.hub.push import GZIP, push
from tests.support.hub.stores import agent_scene, batch_of, running_hub, work
from tests.support.telemetry.scene import Scene
from tests.support.web.running import Site, running_site

EVERYTHING = TurnQuery(team=None, since_us=0, until_us=10**17, limit=1_000)
FINDINGS = FindingQuery(team=None, since_us=0, until_us=10**17)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


def renumbered(event: Event, seq: int) -> Event:
    return msgspec.structs.replace(event, seq=seq)


def bodies(site: Site) -> list[dict[str, Any]]:
    return [json.loads(body) for body in site.hub.store.events_between(0, 10**17, None)]


async def test_a_colleague_can_not_make_events_disappear_by_a_huge_sequence(site: Site) -> None:
    scene = agent_scene()
    turn = work(scene)
    anna, eve = site.token("anna", "agent", "blue"), site.token("eve", "agent", "blue")
    async with site.client(anna) as hers, site.client(eve) as attacker:
        assert (await push(hers, scene.events[:4])).json() == {"acked": 4}
        jump = await push(attacker, [renumbered(scene.events[0], MAX_SEQ)])
        assert (jump.status_code, jump.json()["error"]["code"]) == (409, "sequence_jump")
        await push(attacker, [renumbered(scene.events[0], number) for number in range(1, 400)])
        assert (await push(hers, scene.events[4:])).json() == {"acked": scene.events[-1].seq}
        mine = (await hers.get(f"/api/ingest?source={scene.events[0].source}")).json()["acked"]
        assert mine == scene.events[-1].seq
    kept = [event for event in bodies(site) if event["source"] == scene.events[0].source]
    assert [event["seq"] for event in kept] == [event.seq for event in scene.events]
    [found] = site.hub.store.turns(EVERYTHING)
    assert (found.turn, found.agent, found.status) == (turn, "anna", "completed")


@pytest.mark.parametrize("ahead", [False, True], ids=["behind", "ahead of"])
async def test_a_turn_session_or_source_of_the_same_name_is_kept_beside_the_other(site: Site, ahead: bool) -> None:
    """Whoever comes first: both are whole, and neither is the other's."""
    hers, his = agent_scene(project="anna"), agent_scene(project="eve")
    turn = work(hers)
    assert work(his, calls=1, status="failed") == turn
    order = [("anna", hers), ("eve", his)]
    for name, scene in reversed(order) if ahead else order:
        async with site.client(site.token(name, "agent", "blue")) as client:
            assert (await push(client, scene.events)).json() == {"acked": scene.events[-1].seq}
    found = {record.agent: record for record in site.hub.store.turns(EVERYTHING)}
    assert {name: (one.status, one.project) for name, one in found.items()} == {
        "anna": ("completed", "anna"),
        "eve": ("failed", "eve"),
    }
    assert len({one.turn for one in found.values()}) == len({one.session for one in found.values()}) == 2
    async with site.client(site.secret) as viewer:
        for name, one in found.items():
            shown = (await viewer.get(f"/api/turns/{one.turn}")).json()
            assert (shown["agent"], shown["turn"]["calls"]) == (name, 3 if name == "anna" else 1)


async def test_somebody_elses_turn_can_be_neither_ended_nor_added_to(site: Site) -> None:
    hers = agent_scene()
    turn = hers.start_turn()
    hers.call(ttft_ms=20, decode_ms=10)
    his = Scene(source="h00ffff-1-aaaaaa", session=hers.session)
    his.start_session("shop")
    his.turn = turn
    his.call(ttft_ms=9_000, decode_ms=9_000)
    his.finish_turn("failed")
    async with (
        site.client(site.token("anna", "agent", "blue")) as anna,
        site.client(site.token("eve", "agent", "blue")) as eve,
    ):
        await push(anna, hers.events)
        assert (await push(eve, his.events)).status_code == 200
        async with site.client(site.secret) as viewer:
            shown = (await viewer.get(f"/api/turns/{turn}")).json()
            assert (shown["agent"], shown["turn"]["status"], len(shown["calls"])) == ("anna", None, 1)
        hers.finish_turn("completed")
        await push(anna, hers.events)
    [mine] = [record for record in site.hub.store.turns(EVERYTHING) if record.turn == turn]
    assert (mine.agent, mine.status) == ("anna", "completed")


async def test_what_came_too_late_is_said_and_never_acknowledged_in_silence(site: Site) -> None:
    scene = agent_scene()
    work(scene)
    async with site.client(site.token("anna", "agent", "blue")) as client:
        await push(client, [*scene.events[:3], *scene.events[6:]])
        late = (await push(client, scene.events[2:8])).json()
        assert late == {"acked": 8, "late": 3}
        assert (await push(client, scene.events[6:8])).json() == {"acked": 8}
    assert site.hub.counters.late == 3


@pytest.mark.parametrize(
    ("seqs", "after", "status"),
    [
        ([1, 2, 50_000], None, 200),
        ([MAX_STEP, MAX_STEP + 1], None, 200),
        ([MAX_STEP + 1], None, 409),
        ([1, MAX_STEP + 2], None, 409),
        ([1, MAX_SEQ], None, 409),
        ([MAX_SEQ], None, 409),
        ([5_000_001], 5_000_000, 200),
        ([5_000_001], 1_000, 409),
        ([1, MAX_SEQ], MAX_SEQ, 409),
    ],
)
async def test_steps_in_the_sequence(site: Site, seqs: list[int], after: int | None, status: int) -> None:
    """What is left out between two events is small, or the agent says that it was told of what is before."""
    event = agent_scene().events[0]
    headers = {} if after is None else {"loopline-after": str(after)}
    async with site.client(site.token("anna", "agent", "blue")) as client:
        body = gzip.compress(b"\n".join(encode_event(renumbered(event, seq)) for seq in seqs))
        answer = await client.post("/api/ingest", content=body, headers={**GZIP, **headers})
        assert answer.status_code == status
        known = (await client.get(f"/api/ingest?source={event.source}")).json()["acked"]
    assert known == (seqs[-1] if status == 200 else 0)


async def test_names_without_end_of_one_make_nobody_elses_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "project", 5)
    eve, anna = site.token("eve", "agent", "blue"), site.token("anna", "agent", "blue")
    async with site.client(eve) as attacker, site.client(anna) as hers:
        for number in range(8):
            scene = agent_scene(number + 2, project=f"p{number}")
            work(scene, calls=1)
            await push(attacker, scene.events)
        mine = agent_scene(1, project="the project of anna")
        work(mine)
        await push(hers, mine.events)
    cells = site.hub.store.cells(60, 0, 10**10, "blue")
    assert {dims.project for _, dims, _ in cells if dims.agent == "anna"} == {"the project of anna"}


@pytest.mark.parametrize(
    ("teller", "role", "team", "believed"),
    [
        ("anna", "agent", "blue", True),
        ("shared", "service", "blue", True),
        ("eve", "agent", "blue", False),
        ("eve", "operator", "blue", False),
        ("elsewhere", "service", "green", False),
    ],
)
async def test_stages_of_the_service_are_told_by_the_turns_owner_or_a_service_of_the_team(
    site: Site, teller: str, role: str, team: str, believed: bool
) -> None:
    """Anybody can name a response."""
    hers = agent_scene()
    turn = work(hers, calls=1)
    response_id = next(event.response_id for event in hers.events if isinstance(event, CallCompleted))
    assert response_id is not None
    told = Scene(source="h00ffff-1-aaaaaa")
    stages = {"admission": 4_242.0}
    told.emit(ServiceCall(response_id=response_id, stages_ms=stages, new_tokens=7, reused_tokens=0))
    anna = site.token("anna", "agent", "blue")
    token = anna if teller == "anna" else site.token(teller, role, team)
    async with site.client(anna) as owner, site.client(token) as client:
        assert (await push(owner, hers.events)).status_code == 200
        assert (await push(client, told.events)).status_code == 200
    async with site.client(site.secret) as viewer:
        shown = (await viewer.get(f"/api/turns/{turn}")).json()
        span = {"since": "2020-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z"}
        exports = [await viewer.get("/api/export", params={"format": kind, **span}) for kind in ("ndjson", "csv")]
    assert ("4242" in json.dumps(shown)) is believed
    assert ["4242" in answer.text for answer in exports] == [believed, believed] and response_id in exports[0].text
    # The terminal dashboard puts together what the hub hands on, and must come to the same.
    state = State()
    follower = HubFollower(site.url, site.secret, since="2000-01-01", clock=SystemClock())
    async with contextlib.aclosing(follower.batches()) as batches:
        async for batch in batches:
            for event in batch.events:
                state.apply(event)
            break
    seen = [row.service_stages_ms for row in state.rollup.calls.values() if row.response_id == response_id]
    assert seen == [stages if believed else None]


@pytest.mark.parametrize(("team", "status"), [("blue", 403), ("*", 200)])
async def test_what_is_the_whole_hubs_is_for_its_admin(site: Site, team: str, status: int) -> None:
    before = site.hub.settings
    async with site.client(site.token("boss", "admin", team)) as client:
        answer = await client.put("/api/settings", json={"raw_days": 1})
        assert answer.status_code == status
    assert (site.hub.settings == before) is (status == 403)
    if status == 403:
        assert answer.json()["error"]["code"] == "hub_admin_only"


@pytest.mark.parametrize("depth", [1_000, 100_000, 5_000_000])
async def test_deep_json_is_refused(site: Site, depth: int) -> None:
    event = json.loads(encode_event(agent_scene().events[0]))
    line = json.dumps(event)[:-1] + ',"more":' + "[" * depth + "]" * depth + "}"
    async with site.client(site.token("anna", "agent", "blue")) as client:
        for body in (line.encode(), b"[" * depth, b'{"a":' * depth):
            answer = await client.post("/api/ingest", content=gzip.compress(body), headers=GZIP)
            assert answer.status_code in (400, 413)


async def test_a_store_of_the_version_before_knows_who_has_what(tmp_path: Path) -> None:
    scene = agent_scene()
    turn = work(scene)
    async with running_hub(tmp_path) as hub:
        await hub.accept("blue", "anna", batch_of(scene.events))
    with sqlite3.connect(tmp_path / "rollups.db") as db:
        db.execute("DROP TABLE owner")
        db.execute("PRAGMA user_version = 1")
    for path in (tmp_path / "days").glob("*.db"):
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 1")
    store = SqliteStore(tmp_path)
    assert store.owners("blue", [turn, scene.session, "another"]) == {turn: "anna", scene.session: "anna"}
    store.close()
    with sqlite3.connect(tmp_path / "rollups.db") as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    async with running_hub(tmp_path) as hub:
        await hub.accept("blue", "eve", batch_of(scene.events))
        again = {record.agent: record.turn for record in hub.store.turns(EVERYTHING)}
        assert again == {"anna": turn, "eve": f"{turn}~eve"}
        assert await hub.accept("blue", "anna", batch_of(scene.events)) == (scene.events[-1].seq, 0)


async def test_who_owns_what_survives_a_restart_and_ends_with_its_day(tmp_path: Path) -> None:
    scene = agent_scene()
    turn = work(scene)
    assert isinstance(scene.events[0], SessionStarted)
    for _ in range(2):
        async with running_hub(tmp_path) as hub:
            for agent in ("anna", "eve"):
                await hub.accept("blue", agent, batch_of(scene.events))
            assert sorted(record.turn for record in hub.store.turns(EVERYTHING)) == [turn, f"{turn}~eve"]
            assert hub.store.owners("blue", [turn]) == {turn: "anna"}
    store = SqliteStore(tmp_path)
    kept = {60: 0, 3600: 0, 86_400: 0}
    store.expire(raw_before="9999-12-31", cells_before=kept, samples_before_us=0, seen_before_us=0, budget_s=9)  # type: ignore[arg-type]
    assert store.owners("blue", [turn]) == {}
    store.close()
