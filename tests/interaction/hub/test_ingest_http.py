"""Pushing to the hub over HTTP: idempotence, roles and teams, hostile agents, slow and full disks."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import socket
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.hub.hub_client import HubClient, Outcome
from dashboard.hub.store.records import TurnQuery
from dashboard.web import ingest
from tests.support.hub.push import GZIP, finished, push, push_until_taken
from tests.support.hub.stores import agent_scene, ndjson, work
from tests.support.web.running import Site, running_site

EVERYTHING = TurnQuery(team=None, since_us=0, until_us=1 << 60, limit=10_000)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


async def test_a_batch_is_acknowledged_once_it_is_kept(site: Site) -> None:
    events = finished()
    async with site.client(site.ingest_token) as client:
        answer = await push(client, events)
    assert (answer.status_code, answer.json()) == (200, {"acked": events[-1].seq})
    assert len(list(site.hub.store.events_between(0, 1 << 60, "local"))) == len(events)


async def test_plain_ndjson_is_taken_too(site: Site) -> None:
    async with site.client(site.ingest_token) as client:
        assert (await client.post("/api/ingest", content=ndjson(finished()))).status_code == 200


async def test_pushing_again_changes_nothing(site: Site) -> None:
    events = finished(turns=3)
    async with site.client(site.ingest_token) as client:
        for start, end in ((0, 20), (0, 20), (10, len(events)), (0, len(events))):
            answer = await push(client, events[start:end])
            assert answer.json()["acked"] >= events[end - 1].seq
        status = (await client.get(f"/api/ingest?source={events[0].source}")).json()
    assert status["acked"] == events[-1].seq
    assert (status["schema"], status["content"]) == (1, False)
    assert len(site.hub.store.turns(EVERYTHING)) == 3
    assert site.hub.counters.events == len(events)


async def test_the_agents_own_client_understands_the_hub(site: Site) -> None:
    events = finished()
    good, wrong = HubClient(site.url, site.ingest_token), HubClient(site.url, "llh_wrong")
    with contextlib.closing(good), contextlib.closing(wrong):
        answer = await asyncio.to_thread(good.push, [encode_event(event) for event in events])
        assert (answer.outcome, answer.acked) == (Outcome.ACKED, events[-1].seq)
        assert (await asyncio.to_thread(wrong.push, [b"{}"])).outcome is Outcome.KEY_REFUSED
        assert (await asyncio.to_thread(good.push, [b"{}"])).outcome is Outcome.REFUSED
        giant = [encode_event(events[0])] * 10_001
        assert (await asyncio.to_thread(good.push, giant)).outcome in (Outcome.TOO_LARGE, Outcome.REFUSED)


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("operator", 200), ("admin", 200), ("agent", 200), ("metrics", 403)]
)
async def test_who_may_push(site: Site, role: str, status: int) -> None:
    async with site.client(site.token(role, role, "blue")) as client:
        assert (await push(client, finished())).status_code == status


async def test_another_teams_token_can_not_touch_a_source(site: Site) -> None:
    events = finished()
    blue, red = site.token("blue", "agent", "blue"), site.token("red", "agent", "red")
    async with site.client(blue) as ours, site.client(red) as theirs:
        assert (await push(ours, events[:5])).status_code == 200
        assert (await push(theirs, events)).json() == {"acked": events[-1].seq}
        assert (await ours.get(f"/api/ingest?source={events[0].source}")).json()["acked"] == 5
        assert (await push(ours, events[5:])).json() == {"acked": events[-1].seq}
    turns = site.hub.store.turns(EVERYTHING)
    assert sorted((turn.team, turn.agent, turn.source) for turn in turns) == [
        ("blue", "blue", events[0].source),
        ("red", "red", f"{events[0].source}~red/red"),
    ]


async def test_what_team_a_push_belongs_to_is_the_tokens_word_alone(site: Site) -> None:
    async with site.client(site.token("a", "agent", "blue")) as client:
        events = finished()
        lines = b"".join(
            json.dumps({**msgspec.json.decode(encode_event(event)), "team": "red"}).encode() + b"\n" for event in events
        )
        answer = await client.post("/api/ingest?team=red", content=lines, headers={"x-team": "red"})
        assert answer.status_code == 200
    assert {turn.team for turn in site.hub.store.turns(EVERYTHING)} == {"blue"}


SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>{{7777*7777}}[/b]\u202e'\""


def scripted(number: int = 1) -> list[dict[str, Any]]:
    """A session with a script in every text that an agent chooses."""
    built = []
    for event in finished(number):
        fields = msgspec.json.decode(encode_event(event))
        for name in ("session", "turn", "call", "connection", "project", "client", "tool_call", "name", "model"):
            if name in fields:
                fields[name] = f"{fields[name]}{SCRIPT}"
        built.append(fields)
    done = next(fields for fields in built if fields["type"] == "call.completed")
    done |= {"status": "failed", "error_code": SCRIPT, "finish_reason": SCRIPT}
    return built


async def test_scripts_in_every_text_stay_text(site: Site) -> None:
    body = "\n".join(json.dumps(fields) for fields in scripted())
    async with site.client(site.secret, accept="text/html") as client:
        assert (await client.post("/api/ingest", content=body)).status_code == 200
        [turn] = site.hub.store.turns(EVERYTHING)
        for path in (
            "/", f"/turns/{quote(turn.turn, safe='')}", "/trends?range=30d", "/trends?by=project&range=30d",
            "/reuse?range=30d", "/errors?range=30d", "/settings",
            f"/errors?code={quote(SCRIPT)}", f"/trends?model={quote(SCRIPT)}&label={quote(SCRIPT)}&marker=2026-11-30",
            f"/turns/{quote(turn.turn, safe='')}?with={quote(SCRIPT)}", f"/login?next={quote('/' + SCRIPT)}",
        ):  # fmt: skip
            answer = await client.get(path)
            assert answer.status_code == 200, path
            assert "<script>alert" not in answer.text, path
            assert "<img src" not in answer.text, path
            assert "onerror=alert(1)>" not in answer.text.replace("&gt;", ""), path
            assert "60481729" not in answer.text, path
            assert "\u202e" not in re.sub("<[^>]*>", "", answer.text), path
        metrics = (await client.get("/metrics")).text
        assert all(line.startswith("#") or line.count('"') % 2 == 0 for line in metrics.splitlines())


@pytest.mark.parametrize("count", [3_600, pytest.param(100_000, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
async def test_model_names_without_end_cost_nothing_lasting(site: Site, count: int) -> None:
    """The number of series and rows is the same for any number of names beyond the limit."""
    sizes, batch = [], 1_200
    async with site.client(site.ingest_token) as client, site.client(site.secret) as admin:
        for round_ in range(-(-count // batch)):
            scene = agent_scene(round_ + 1)
            scene.start_turn()
            for number in range(min(batch, count - round_ * batch)):
                call = scene.send(f"c{round_}_{number}", model=f"m-{round_}-{number}")
                scene.complete(call, 5.0, 1.0, input_tokens=1, output_tokens=1)
            await push_until_taken(client, scene.events)
            metrics = (await admin.get("/metrics")).text
            rows = site.hub.store.cells(86_400, 0, 1 << 40, "local")
            sizes.append((len(metrics.splitlines()), len(rows)))
    assert sizes[0] == sizes[-1]
    assert sum(cell.figures.calls for _, _, cell in rows) == count


async def test_a_giant_body_is_refused_before_it_is_read(site: Site) -> None:
    port = int(site.url.rpartition(":")[2])
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /api/ingest HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {site.ingest_token}\r\n"
        writer.write(f"{head}Content-Length: {1 << 40}\r\n\r\nx".encode())
        assert b" 413 " in await reader.read(100)
        writer.close()

        sent = 0
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError):
            while sent < 1 << 30:
                writer.write(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
                await writer.drain()
                sent += 1 << 20
        assert sent < 100 << 20
        writer.close()
    async with site.client(site.ingest_token) as client:
        large = await client.post("/api/ingest", content=bytes(20 << 20))
        assert large.status_code == 413
        bomb = await client.post("/api/ingest", content=gzip.compress(bytes(64 << 20)), headers=GZIP)
        assert bomb.status_code == 413
        assert (await push(client, finished())).status_code == 200


async def test_a_refused_agent_that_sends_much_gets_its_answer(site: Site) -> None:
    async with site.client("llh_wrong") as client:
        assert (await client.post("/api/ingest", content=bytes(6 << 20))).status_code == 401
    async with site.client(site.ingest_token) as client:
        answer = await client.post("/api/ingest", content=bytes(6 << 20), headers={"origin": "https://evil.example"})
        assert answer.status_code == 403
        assert (await push(client, finished())).status_code == 200


async def test_a_body_that_never_ends_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "BODY_S", 0.3)
    port = int(site.url.rpartition(":")[2])
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"POST /api/ingest HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {site.ingest_token}\r\n"
            "Content-Length: 1000\r\n\r\nabc".encode()
        )
        assert b" 408 " in await reader.read(100)
        writer.close()


async def test_too_many_batches_of_a_source_are_told_to_wait(site: Site) -> None:
    events = finished()
    async with site.client(site.ingest_token) as client:
        answers = [await push(client, events[:3]) for _ in range(3)]
        (key,) = site.parts.ingest_rate._buckets
        site.parts.ingest_rate.take(key, site.clock.mono_ns() + 10**12, amount=1e12)
        waiting = await push(client, events)
        other = await push(client, finished(2))
    assert {answer.status_code for answer in answers} == {200}
    assert waiting.status_code == 429
    assert int(waiting.headers["retry-after"]) >= 1
    assert other.status_code == 200


async def test_a_locked_disk_costs_patience_and_no_event(site: Site, tmp_path: Path) -> None:
    site.hub.store._db.execute("PRAGMA busy_timeout = 50")  # type: ignore[attr-defined]
    events = finished()
    other = sqlite3.connect(tmp_path / "hub" / "rollups.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    async with site.client(site.ingest_token) as client, site.client(site.secret) as admin:
        refused = await push(client, events)
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        assert (await admin.get("/", headers={"accept": "text/html"})).status_code == 200
        assert (await admin.get("/api/health")).json()["writes"] == "store_busy"
        other.execute("ROLLBACK")
        other.close()
        answer = await push_until_taken(client, events)
        assert answer.json() == {"acked": events[-1].seq}
        assert (await admin.get("/api/health")).json()["writes"] == "ok"
    [turn] = site.hub.store.turns(EVERYTHING)
    assert turn.status == "completed"


async def test_a_full_disk_is_told_as_such_and_pages_go_on(site: Site) -> None:
    first, second = finished(1), finished(2, turns=30)
    async with site.client(site.ingest_token) as client, site.client(site.secret, accept="text/html") as admin:
        assert (await push(client, first)).status_code == 200
        for db in site.hub.store._days._open.values():  # type: ignore[attr-defined]
            db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
        refused = await push(client, second)
        assert refused.status_code == 507
        assert int(refused.headers["retry-after"]) >= 1
        for path in ("/", "/trends", "/errors", "/settings", "/reuse"):
            assert (await admin.get(path)).status_code == 200
        await push_until_taken(client, second)
    assert len(site.hub.store.turns(EVERYTHING)) == 31


async def test_a_week_of_events_at_once_is_taken_in_order(site: Site) -> None:
    scene = agent_scene()
    for _ in range(7 * 4):
        work(scene)
        scene.wait(6 * 3_600_000)
    scene_days = {event.time[:10] for event in scene.events}
    async with site.client(site.ingest_token) as client:
        for start in range(0, len(scene.events), 100):
            answer = await push(client, scene.events[start : start + 100])
            assert answer.json() == {"acked": scene.events[min(start + 99, len(scene.events) - 1)].seq}
    assert len(scene_days) >= 7
    assert len(site.hub.store.turns(EVERYTHING)) == 28


async def test_an_agent_that_hangs_up_half_way_harms_nobody(site: Site) -> None:
    port = int(site.url.rpartition(":")[2])
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST /api/ingest HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Le" % port)
    async with site.client(site.ingest_token) as client:
        assert (await push(client, finished())).status_code == 200
