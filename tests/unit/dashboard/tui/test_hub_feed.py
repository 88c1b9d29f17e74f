"""Following a team hub over a real HTTP socket: cursors, tokens, a hub that is away."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent_core.errors import AuthError, UsageError
from agent_core.telemetry.codec import encode_event
from dashboard.tui.command import feed_of
from dashboard.tui.hub_feed import HubFollower, open_hub
from tests.support.system.waiting import eventually
from tests.support.telemetry.recorded_feed import SteppingClock, recorded_feed

FEED = recorded_feed()
WAIT_S = 20.0


class SmallHub:
    """Answers `GET /api/events` by hand-written HTTP, ten events a page; can refuse and can break."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        """(target, authorization) of each."""
        self.broken = 0
        self.token = "secret"
        self.url = ""
        self.serving: set[asyncio.Task[None]] = set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                target = head.split(" ")[1]
                token = next(
                    (line[15:] for line in head.split("\r\n") if line.lower().startswith("authorization: ")), ""
                )
                self.requests.append((target, token))
                if self.broken:
                    self.broken -= 1
                    break
                status, cursor, body = self.page(target, token)
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nX-Loopline-Cursor: {cursor}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        writer.transport.abort()

    def page(self, target: str, token: str) -> tuple[str, str, bytes]:
        if token != f"Bearer {self.token}":
            return "401 Unauthorized", "", b""
        query = dict(part.split("=") for part in target.partition("?")[2].split("&"))
        start = int(query.get("after", "0"))
        page = FEED[start : start + 10]
        lines = [encode_event(event) for event in page] + [json.dumps({"type": "event.of.tomorrow"}).encode(), b"junk"]
        return "200 OK", str(start + len(page)), b"\n".join(lines)


@asynccontextmanager
async def hub() -> AsyncIterator[SmallHub]:
    small = SmallHub()
    server = await asyncio.start_server(small.answer, "127.0.0.1", 0)
    async with server:
        small.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield small
    for task in small.serving:
        task.cancel()
    if small.serving:
        await asyncio.wait(small.serving)


async def test_events_come_by_cursor_with_the_token_and_survive_a_hub_that_breaks() -> None:
    async with hub() as small, asyncio.timeout(WAIT_S):
        small.broken = 2
        clock = SteppingClock()
        started_ns = clock.mono_ns()
        follower = HubFollower(small.url + "/", "secret", since="2026-11-29", clock=clock)
        seen: list[int] = []
        async with contextlib.aclosing(follower.batches()) as batches:
            async for batch in batches:
                seen += [event.seq for event in batch.events]
                assert follower.notices == []
                if len(seen) >= len(FEED):
                    break
        assert seen == [event.seq for event in FEED]
        assert small.requests[0] == ("/api/events?since=2026-11-29&wait_s=20&tellers=1", "Bearer secret")
        assert small.requests[-1][0].startswith("/api/events?after=1")
        assert (clock.mono_ns() - started_ns) / 1e9 == 3.0, "one second, then two"
        history = await asyncio.to_thread(lambda: [event.seq for event in follower.history()])
        assert history == seen


async def test_a_refused_token_ends_it() -> None:
    async with hub() as small, asyncio.timeout(WAIT_S):
        follower = HubFollower(small.url, None, since="", clock=SteppingClock())
        with pytest.raises(AuthError):
            async with contextlib.aclosing(follower.batches()) as batches:
                await anext(batches)


async def test_while_the_hub_is_away_the_reader_is_told() -> None:
    async with hub() as small:
        url = small.url
    follower = HubFollower(url, None, since="", clock=SteppingClock())
    async with contextlib.aclosing(follower.batches()) as batches:
        waiting = asyncio.ensure_future(anext(batches))
        await eventually(lambda: bool(follower.notices))
        assert "trying again" in follower.notices[0]
        waiting.cancel()
        await asyncio.wait([waiting])


@pytest.mark.parametrize("url", ["hub.example", "ftp://hub.example", "http://", "https://key@hub.example"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        feed_of(replay=None, speed=1.0, hub=url, clock=SteppingClock())


def test_the_days_to_read_are_counted_back_from_now() -> None:
    feed = open_hub("http://127.0.0.1:1", {}, SteppingClock())(1)
    assert isinstance(feed, HubFollower)
    assert feed._query("") == {"since": "2026-11-29", "wait_s": "20", "tellers": "1"}
    assert feed._query("c") == {"after": "c", "wait_s": "20", "tellers": "1"}
