"""The live stream on real sockets: what it tells, how it resumes, who it tells, and who it cuts off."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dashboard.hub.people.auth import revoke_token
from dashboard.web import server, stream
from tests.support.hub.stores import agent_scene, batch_of
from tests.support.system.waiting import eventually
from tests.support.telemetry.scene import Scene
from tests.support.web.running import Site, running_site, seen_until, told


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


def begun(number: int = 1) -> Scene:
    scene = agent_scene(number)
    scene.start_turn()
    call = scene.send(reuse="first")
    scene.wait(20)
    scene.delta(call, 20)
    return scene


async def push(site: Site, scene: Scene, team: str = "local", start: int = 0) -> None:
    await site.hub.accept(team, "ann", batch_of(scene.events[start:]))


async def test_a_turn_is_told_of_while_it_runs_and_when_it_ends(site: Site) -> None:
    scene = begun()
    async with site.client(site.secret) as client, client.stream("GET", "/api/stream") as answer:
        events = told(answer)
        first = await seen_until(events, lambda event: event.kind == "hello")
        assert first[-1].id.startswith(site.hub.live.epoch)
        await push(site, scene)
        [*_, running] = await seen_until(events, lambda event: event.kind == "turns" and bool(event.data["rows"]))
        assert running.data["rows"][0]["turn"] == scene.turn
        assert running.data["shown"] == [scene.turn]
        sent, turn = len(scene.events), scene.turn
        scene.finish_turn()
        await push(site, scene, start=sent)
        [*_, ended] = await seen_until(events, lambda event: event.kind == "turns" and bool(event.data["ended"]))
        assert [row["turn"] for row in ended.data["ended"]] == [turn]
        assert turn not in ended.data["shown"]
        [*_, totals] = await seen_until(
            events, lambda event: event.kind == "totals" and event.data["totals"]["running"] == 0
        )
        assert totals.data["totals"]["agents"] == 1


async def test_what_came_while_away_comes_on_return_and_nothing_twice(site: Site) -> None:
    scenes = [begun(number) for number in range(1, 5)]
    async with site.client(site.secret) as client:
        async with client.stream("GET", "/api/stream") as answer:
            events = told(answer)
            await seen_until(events, lambda event: event.kind == "hello")
            await push(site, scenes[0])
            [*_, last] = await seen_until(events, lambda event: event.kind == "turns")
        for scene in scenes[1:]:
            scene.finish_turn()
            await push(site, scene)
        await eventually(lambda: len(site.hub.live.read(last.id, None).ended) == 3)
        async with client.stream("GET", "/api/stream", headers={"last-event-id": last.id}) as answer:
            found = await seen_until(told(answer), lambda event: event.kind == "turns")
        assert "resync" not in {event.kind for event in found}
        ended = [row["turn"] for row in found[-1].data["ended"]]
        assert sorted(ended) == [f"sess_{number}_turn_1" for number in range(2, 5)]
        async with client.stream("GET", f"/api/stream?after={found[-1].id}") as answer:
            quiet = await seen_until(told(answer), lambda event: event.kind == "totals")
        assert [event for event in quiet if event.kind in ("turns", "resync")] == []


@pytest.mark.parametrize("position", ["0000-1", "nonsense", "", "{epoch}-999999"])
async def test_a_position_out_of_reach_gets_exactly_one_resync(site: Site, position: str) -> None:
    position = position.format(epoch=site.hub.live.epoch)
    async with (
        site.client(site.secret) as client,
        client.stream("GET", "/api/stream", headers={"last-event-id": position}) as answer,
    ):
        events = told(answer)
        found = await seen_until(events, lambda event: event.kind == "totals")
        await push(site, begun())
        found += await seen_until(events, lambda event: event.kind == "turns")
    assert [event.kind for event in found].count("resync") == (1 if position else 0)


async def test_another_teams_turns_are_never_told_of(site: Site) -> None:
    token = site.token("viewer", "viewer", "blue")
    red, blue = begun(1), begun(2)
    async with site.client(token) as client, client.stream("GET", f"/api/stream?turn={red.turn}") as answer:
        events = told(answer)
        await seen_until(events, lambda event: event.kind == "hello")
        await push(site, red, "red")
        await push(site, blue, "blue")
        found = await seen_until(events, lambda event: event.kind == "turns")
    seen = repr([event.data for event in found])
    assert blue.turn in seen
    assert red.turn not in seen
    assert site.parts.frames.make_totals("blue").running == 1
    assert site.parts.frames.make_totals(None).running == 2


async def test_a_watched_turn_is_told_of_beyond_the_list(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.hub.frames.SHOWN", 1)
    first, second = begun(1), begun(2)
    second.clock.wait(1000)
    async with site.client(site.secret) as client, client.stream("GET", f"/api/stream?turn={first.turn}") as answer:
        events = told(answer)
        await seen_until(events, lambda event: event.kind == "hello")
        await push(site, second)
        await push(site, first)
        found = await seen_until(
            events, lambda event: first.turn in [row["turn"] for row in event.data.get("rows", [])]
        )
        if len(found[-1].data["shown"]) == 1:
            assert found[-1].data["hidden"] in (0, 1)


async def test_a_revoked_token_ends_its_stream_at_once(site: Site) -> None:
    token = site.token("ann", "viewer", "blue")
    other = site.token("bob", "viewer", "blue")
    async with (
        site.client(token) as client,
        client.stream("GET", "/api/stream") as answer,
        site.client(other) as second,
        second.stream("GET", "/api/stream") as unaffected,
    ):
        events, others = told(answer), told(unaffected)
        await seen_until(events, lambda event: event.kind == "hello")
        revoke_token(site.parts.people, site.clock, "ann")
        found = await seen_until(events, lambda event: event.kind == "signed_out")
        async with asyncio.timeout(30):
            assert [event async for event in events] == []
        assert found
        await push(site, begun(), "blue")
        await seen_until(others, lambda event: event.kind == "turns")


async def test_signing_out_ends_the_streams_of_that_browser(site: Site) -> None:
    cookie, _ = await site.signed_in()
    headers = {**cookie, "origin": site.url}
    async with site.client(**headers) as client, client.stream("GET", "/api/stream") as answer:
        events = told(answer)
        await seen_until(events, lambda event: event.kind == "hello")
        assert (await client.post("/logout")).status_code == 303
        await seen_until(events, lambda event: event.kind == "signed_out")


def stalled_reader(site: Site) -> socket.socket:
    """A browser that asks for the stream and never reads."""
    port = int(site.url.rpartition(":")[2])
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    request = f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {site.secret}\r\n\r\n"
    client.sendall(request.encode())
    return client


async def test_a_stalled_browser_is_cut_off_and_others_are_not_held_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SEND_BUFFER", 4096)
    monkeypatch.setattr(stream, "WRITE_S", 0.5)
    async with running_site(tmp_path) as site:
        client = stalled_reader(site)
        with contextlib.closing(client):
            await eventually(lambda: site.hub.live.readers == 1)
            scenes = [begun(number) for number in range(1, 61)]
            for scene in scenes:
                await push(site, scene)
            held = 0
            async with site.client(site.secret) as quick, quick.stream("GET", "/api/stream") as answer:
                events = told(answer)
                await seen_until(events, lambda event: event.kind == "hello")
                async with asyncio.timeout(20):
                    while site.hub.live.closed_slow == 0:
                        for scene in scenes:
                            sent = len(scene.events)
                            scene.delta(f"{scene.session}_call_1", 20)
                            await push(site, scene, start=sent)
                        await seen_until(events, lambda event: event.kind in ("turns", "beat", "totals"))
                        held += 1
                assert held < 60
            await eventually(lambda: site.hub.live.readers == 0)
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                while client.recv(65536):
                    pass
        assert site.hub.live.closed_slow == 1
        assert site.parts.streams == {}


async def test_a_browser_that_goes_half_way_is_gone(site: Site) -> None:
    client = stalled_reader(site)
    with contextlib.closing(client):
        await eventually(lambda: site.hub.live.readers == 1)
        client.shutdown(socket.SHUT_WR)
        await eventually(lambda: site.hub.live.readers == 0)


async def test_a_peer_that_acknowledges_nothing_is_given_up_by_the_kernel() -> None:
    listener = server.listen("127.0.0.1", 0)
    with contextlib.closing(listener):
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == server.UNACKED_MS
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 2 * server.SEND_BUFFER


async def test_streams_of_one_credential_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_STREAMS_EACH", 2)
    token = site.token("ann", "viewer", "local")
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(site.client(token))
        for _ in range(2):
            answer = await stack.enter_async_context(client.stream("GET", "/api/stream"))
            assert answer.status_code == 200
        refused = await client.get("/api/stream")
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        other = await stack.enter_async_context(site.client(site.secret))
        allowed = await stack.enter_async_context(other.stream("GET", "/api/stream"))
        assert allowed.status_code == 200
    await eventually(lambda: site.parts.streams == {})
    async with site.client(token) as client, client.stream("GET", "/api/stream") as answer:
        assert answer.status_code == 200


async def test_a_silent_stream_says_that_it_lives(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BEAT_S", 0.5)
    async with site.client(site.secret) as client, client.stream("GET", "/api/stream") as answer:
        await seen_until(told(answer), lambda event: event.kind == "beat")


async def test_streams_end_in_order_when_the_process_does(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        site = await stack.enter_async_context(running_site(tmp_path))
        client = await stack.enter_async_context(site.client(site.secret))
        answer = await stack.enter_async_context(client.stream("GET", "/api/stream"))
        events = told(answer)
        await seen_until(events, lambda event: event.kind == "hello")
        site.parts.stopping.set()
        async with asyncio.timeout(30):
            rest = [event async for event in events]
        assert all(event.kind in ("totals", "beat") for event in rest)
