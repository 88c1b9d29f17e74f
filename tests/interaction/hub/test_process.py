"""The dashboard as a process: ready file, refusals, signals, this machine's journals, and real sessions."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_core.telemetry.hub.shipper import Shipper
from agent_core.telemetry.journal.sink import JournalSink
from tests.support.hub.push import push
from tests.support.hub.stores import work
from tests.support.system.cli import environment, loopline
from tests.support.system.waiting import eventually
from tests.support.telemetry.scene import Scene
from tests.support.web.running import seen_until, told, web_process


@pytest.fixture
async def journals(tmp_path: Path) -> AsyncIterator[Scene]:
    """A source that writes its journal under XDG_STATE_HOME = tmp_path."""
    source = f"h00000a-{os.getpid()}-00000a"
    sink = JournalSink(tmp_path / "loopline", source)
    scene = Scene(sink, source=source, session="sess_local")
    scene.clock.set_wall(time.time_ns() - 60 * 10**9)
    scene.start_session("shop")
    scene.open_connection()
    yield scene
    await asyncio.to_thread(sink.close)


async def becomes(question: Callable[[], Awaitable[object]], answer: object, timeout_s: float = 20.0) -> None:
    """Ask another process until it answers so."""
    async with asyncio.timeout(timeout_s):
        while await question() != answer:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def client_of(ready: dict[str, Any]) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {ready['secret']}"}
    return httpx.AsyncClient(base_url=ready["url"], headers=headers, timeout=20.0, trust_env=False)


async def test_the_ready_file_holds_what_scripts_need_and_is_its_owners(tmp_path: Path) -> None:
    async with web_process(tmp_path) as web:
        ready = web.ready
        assert set(ready) == {"url", "pid", "link", "secret", "ingest_token"}
        assert ready["pid"] == web.process.pid
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", ready["url"])
        assert ready["link"].startswith(ready["url"])
        assert (tmp_path / "web.ready").stat().st_mode & 0o777 == 0o600
        async with client_of(ready) as client:
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/api/me")).json()["role"] == "admin"
            client.headers["authorization"] = f"Bearer {ready['ingest_token']}"
            assert (await client.get("/api/ingest")).json()["acked"] == 0
        for path in (tmp_path / "loopline" / "hub").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path
        assert await web.stop() == 0


async def refused(state_home: Path, *options: str) -> tuple[int, str]:
    """`loopline web` that should end by itself: its exit code and what it says."""
    env = {**environment(state_home), "XDG_STATE_HOME": str(state_home)}
    done = await asyncio.to_thread(loopline, "web", "--port", "0", *options, env=env)
    return done.code, done.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
async def test_without_a_token_it_refuses_to_be_reached_by_others(tmp_path: Path, host: str) -> None:
    code, errors = await refused(tmp_path, "--host", host)
    assert code == 2
    assert "token" in errors


async def test_a_public_url_that_is_none_is_refused(tmp_path: Path) -> None:
    code, errors = await refused(tmp_path, "--public-url", "https://hub/path")
    assert code == 2
    assert "--public-url" in errors


async def test_a_second_one_on_the_same_store_is_told_so(tmp_path: Path) -> None:
    async with web_process(tmp_path):
        code, errors = await refused(tmp_path)
    assert code == 2
    assert "another" in errors


async def test_with_a_token_it_serves_others_and_follows_no_journal(tmp_path: Path, journals: Scene) -> None:
    work(journals)
    env = {**environment(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    made = await asyncio.to_thread(loopline, "web", "token", "add", "ann", "--role", "admin", "--team", "blue", env=env)
    token = made.out.strip()
    listed = await asyncio.to_thread(loopline, "web", "token", "list", env=env)
    assert "ann" in listed.out
    assert token not in listed.out
    async with (
        web_process(tmp_path, host="0.0.0.0") as web,
        httpx.AsyncClient(base_url=web.url, headers={"authorization": f"Bearer {token}"}) as client,
    ):
        assert (await client.get("/api/me")).json() == {"name": "ann", "role": "admin", "team": "blue"}
        health = (await client.get("/api/health")).json()
        assert health["follows_local"] is False
        assert (await client.get("/api/now")).json()["ended"] == []
        refused = await client.get("/api/me", headers={"host": "hub.example"})
        assert refused.status_code == 403


async def test_this_machines_sessions_show_without_any_set_up_and_once(tmp_path: Path, journals: Scene) -> None:
    first = work(journals)
    async with web_process(tmp_path) as web, client_of(web.ready) as client:
        port = int(web.url.rpartition(":")[2])

        async def seen() -> list[str]:
            return [row["turn"] for row in (await client.get("/api/now")).json()["ended"]]

        await becomes(seen, [first])
        async with client.stream("GET", "/api/stream") as answer:
            events = told(answer)
            await seen_until(events, lambda event: event.kind == "hello")
            second = work(journals)
            found = await seen_until(
                events, lambda event: second in [row["turn"] for row in event.data.get("ended", [])]
            )
        assert found
        assert await web.stop() == 0
    third = work(journals)
    async with web_process(tmp_path, port=port) as web, client_of(web.ready) as client:

        async def back() -> bool:
            return third in [row["turn"] for row in (await client.get("/api/now")).json()["ended"]]

        await becomes(back, True)

        async def counted() -> object:
            charts = (await client.get("/api/trends?range=6h")).json()["charts"]
            return sum(point["values"][0] for chart in charts if chart["key"] == "calls" for point in chart["points"])

        await becomes(counted, 9.0)
        assert (await client.get("/api/health")).json()["repeated"] == 0


async def test_it_ends_in_time_with_streams_open(tmp_path: Path) -> None:
    async with web_process(tmp_path) as web, client_of(web.ready) as client:
        async with client.stream("GET", "/api/stream") as answer:
            events = told(answer)
            await seen_until(events, lambda event: event.kind == "hello")
            web.process.terminate()
            async with asyncio.timeout(8):
                rest = [event async for event in events]
                assert await web.process.wait() == 0
        assert all(event.kind in ("totals", "beat", "turns") for event in rest)


async def test_what_reuse_computes_is_what_a_real_http_run_sends(tmp_path: Path) -> None:
    """The demo does one task over a WebSocket and again over HTTP. What the page computes the first would have sent
    over HTTP is compared with what the second did send."""
    env = environment(tmp_path)
    done = await asyncio.to_thread(loopline, "demo", "--json", env=env)
    assert done.code == 0, done.err
    legs = {line["transport"]: line for line in done.lines if line.get("type") == "leg"}
    assert legs["websocket"]["calls"] == legs["http"]["calls"]
    async with web_process(tmp_path / "state") as web, client_of(web.ready) as client:
        found: dict[str, dict[str, Any]] = {}

        async def counted() -> bool:
            for transport in legs:
                found[transport] = (await client.get(f"/api/reuse?range=1h&transport={transport}")).json()
            return all(found[name]["savings"]["calls"] == leg["calls"] for name, leg in legs.items())

        await becomes(counted, True)
        page = (await client.get("/reuse?range=1h", headers={"accept": "text/html"})).text
    computed, sent = found["websocket"]["savings"]["bytes_full"], found["http"]["savings"]["bytes_up"]
    assert sent == legs["http"]["bytes_up"]
    assert found["websocket"]["savings"]["bytes_up"] == legs["websocket"]["bytes_up"]
    assert computed == pytest.approx(sent, rel=0.02), json.dumps(found)
    assert found["websocket"]["bytes_saved"] == computed - legs["websocket"]["bytes_up"]
    assert "Computed" in page


async def test_an_agents_shipper_reaches_the_hub(tmp_path: Path, journals: Scene) -> None:
    """The shipper of the agent's side against the real hub: a hub that was down catches up."""
    for _ in range(3):
        work(journals)
    async with web_process(tmp_path / "hub") as web:
        shipper = Shipper(tmp_path / "loopline", web.url, web.ready["ingest_token"], poll_s=0.1)
        shipper.start()
        try:
            async with client_of(web.ready) as client:

                async def acked() -> int:
                    answer = await client.get(f"/api/ingest?source={journals.events[0].source}")
                    return int(answer.json()["acked"])

                await becomes(acked, journals.events[-1].seq)
                turns = (await client.get("/api/turns")).json()["turns"]
                assert len(turns) == 3
        finally:
            await asyncio.to_thread(shipper.close)


async def test_hub_status_says_what_the_hub_did_not_keep(tmp_path: Path) -> None:
    """Events that came behind later ones of their source are acknowledged and not kept: whoever pushed is told."""
    home = environment(tmp_path)
    state, store = tmp_path / "state" / "loopline", tmp_path / "hub"
    source = f"h00000b-{os.getpid()}-00000b"
    async with web_process(store) as web:
        token = web.ready["ingest_token"]
        joined = await asyncio.to_thread(loopline, "hub", "join", web.url, env=home, stdin=f"{token}\n")
        assert joined.code == 0, joined.err
        before = await asyncio.to_thread(loopline, "hub", "status", env=home)
        assert (before.code, "takes our token" in before.out, "did not keep" in before.out) == (0, True, False)
        sink = JournalSink(state, source)
        scene = Scene(sink, source=source, session="sess_late")
        scene.clock.set_wall(time.time_ns() - 60 * 10**9)
        scene.start_session("shop")
        work(scene)
        await asyncio.to_thread(sink.close)
        async with httpx.AsyncClient(base_url=web.url, headers={"authorization": f"Bearer {token}"}) as client:
            assert (await push(client, scene.events[4:])).status_code == 200
        shipper = Shipper(state, web.url, token, poll_s=0.1)
        shipper.start()
        try:
            await eventually(lambda: shipper.status.late)
        finally:
            await asyncio.to_thread(shipper.close)
        after = await asyncio.to_thread(loopline, "hub", "status", env=home)
    assert after.code == 0
    assert "It did not keep 4 events (0 refused, 4 late): later events of their source" in after.out
    gone = await asyncio.to_thread(loopline, "hub", "status", env=home)
    assert gone.code == 1
    assert "did not keep 4 events" in gone.out
