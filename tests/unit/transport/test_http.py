"""The HTTP shell against a real socket."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_core.errors import (
    AuthError,
    ConnectionLost,
    LooplineError,
    ProtocolError,
    Retry,
    ServiceError,
    ServiceUnreachable,
)
from agent_core.transport.http import Http, HttpStream
from agent_core.transport.urls import http_url
from tests.support.model import events as make
from tests.support.model.scripted_greeting import greeting
from tests.support.model.scripted_service import Post, ScriptedService, running

BODY = b'{"model":"m","input":[]}'


class Trip:
    """Keeps what it is told of a POST."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def connecting(self) -> None:
        self.steps.append("connecting")

    def connected(self) -> None:
        self.steps.append("connected")

    def leaving(self) -> None:
        self.steps.append("leaving")

    def left(self) -> None:
        self.steps.append("left")


@asynccontextmanager
async def client(service: ScriptedService) -> AsyncIterator[Http]:
    http = Http(http_url(service.base_url), {"Authorization": "Bearer sk-secret"})
    try:
        async with asyncio.timeout(20):
            yield http
    finally:
        await http.close()


async def all_of(stream: HttpStream, count: int) -> list[dict[str, Any]]:
    got: list[bytes] = []
    while len(got) < count:
        got += await stream.receive()
    return [json.loads(data) for data in got]


async def test_the_answer_is_the_same_events_as_on_a_socket() -> None:
    events = make.ladder("resp_1", make.message("hello"))
    async with running(posts=[Post(events)]) as service, client(service) as http:
        stream = await http.post(BODY, Trip())
        assert await all_of(stream, len(events)) == events
        await stream.close()
        assert service.posts[0].body == json.loads(BODY)
        assert service.post_headers[0]["authorization"] == "Bearer sk-secret"


async def test_a_finished_answer_leaves_the_connection_for_the_next() -> None:
    events = make.ladder("resp_1", make.message("hello"))
    async with running(posts=[Post(events), Post(events), Post(events)]) as service, client(service) as http:
        for _ in range(3):
            stream = await http.post(BODY, Trip())
            await all_of(stream, len(events))
            await stream.finish()
        assert service.connections == 1


@pytest.mark.parametrize(
    ("post", "error", "code", "retry"),
    [
        (Post(status=401, body={"error": {"message": "bad key sk-x"}}), AuthError, "auth_refused", Retry.NEVER),
        (Post(status=403), AuthError, "auth_refused", Retry.NEVER),
        (Post(status=400, body=make.error("invalid_prompt")), ServiceError, "invalid_prompt", Retry.NEVER),
        (Post(status=404, body={"detail": "Not Found"}), ServiceError, "http_404", Retry.NEVER),
        (Post(status=413, body=make.error("message_too_large")), ServiceError, "message_too_large", Retry.NEVER),
        (Post(status=429, body=make.error("rate_limit_exceeded")), ServiceError, "rate_limit_exceeded", Retry.BACKOFF),
        (Post(status=502), ServiceError, "http_502", Retry.BACKOFF),
        (Post(status=500, body={"error": "boom"}), ServiceError, "http_500", Retry.BACKOFF),
    ],
)
async def test_a_status_that_is_no_success_is_the_error_of_its_body(
    post: Post, error: type[LooplineError], code: str, retry: Retry
) -> None:
    async with running(posts=[post]) as service, client(service) as http:
        with pytest.raises(error) as caught:
            await http.post(BODY, Trip())
    assert (caught.value.code, caught.value.retry) == (code, retry)
    assert "sk-x" not in caught.value.message


async def test_retry_after_is_read_from_the_headers() -> None:
    post = Post(status=429, body=make.error("rate_limit_exceeded"), headers={"Retry-After": "3"})
    async with running(posts=[post]) as service, client(service) as http:
        with pytest.raises(ServiceError) as caught:
            await http.post(BODY, Trip())
    assert caught.value.retry_after_s == 3


async def test_a_success_that_is_no_event_stream_is_a_fault() -> None:
    async with running(posts=[Post(body={"object": "response"})]) as service, client(service) as http:
        with pytest.raises(ProtocolError):
            await http.post(BODY, Trip())


@pytest.mark.parametrize("cut", [True, False])
async def test_a_stream_that_ends_before_its_terminal_event_is_lost(cut: bool) -> None:
    """ollama/ollama#17118, ogx-ai/ogx#5309: the end of a body is no end of a response."""
    events = make.ladder("resp_1", make.message("hello"))[:4]
    async with running(posts=[Post(events, cut=cut)]) as service, client(service) as http:
        stream = await http.post(BODY, Trip())
        await all_of(stream, len(events))
        with pytest.raises(ConnectionLost):
            await stream.receive()
        await stream.close()


async def test_the_silence_limit_ends_a_wait() -> None:
    async with running(posts=[Post(make.response_started("resp_1"), hold=True)]) as service, client(service) as http:
        stream = await http.post(BODY, Trip())
        await all_of(stream, 2)
        with pytest.raises(ConnectionLost):
            await stream.receive(0.02)
        await stream.close()


async def test_the_silence_limit_holds_for_the_head_of_the_answer_too() -> None:
    async with asyncio.timeout(10), greeting(b"") as url:
        http = Http(http_url(url), {})
        with pytest.raises(ConnectionLost):
            await http.post(BODY, Trip(), 0.02)
        await http.close()


async def test_a_peer_that_does_not_speak_http_is_a_broken_request() -> None:
    async with asyncio.timeout(10), greeting(b"220 mail ready\r\n\r\n") as url:
        http = Http(http_url(url), {})
        with pytest.raises(ConnectionLost):
            await http.post(BODY, Trip())
        await http.close()


async def test_closing_the_stream_tells_the_service_to_stop() -> None:
    async with running(posts=[Post(make.response_started("resp_1"), hold=True)]) as service, client(service) as http:
        stream = await http.post(BODY, Trip())
        await all_of(stream, 2)
        await stream.close()  # the scripted service waits for exactly this


async def test_nothing_listening_is_unreachable() -> None:
    async with running() as service:
        url = http_url(service.base_url)
    http = Http(http_url(url), {})
    with pytest.raises(ServiceUnreachable):
        await http.post(BODY, Trip())
    await http.close()


def test_httpx_is_not_imported_before_the_first_post() -> None:
    code = "import sys; import agent_core.transport.http; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


async def test_what_becomes_of_a_post_is_told_as_it_happens() -> None:
    events = make.ladder("resp_1", make.message("hello"))
    first, second = Trip(), Trip()
    async with running(posts=[Post(events), Post(events)]) as service, client(service) as http:
        for trip in (first, second):
            stream = await http.post(BODY, trip)
            await all_of(stream, len(events))
            await stream.finish()
        assert service.connections == 1
    assert first.steps == ["connecting", "connected", "leaving", "left"]
    assert second.steps == ["leaving", "left"]


async def test_a_post_that_reached_nobody_never_left() -> None:
    async with running() as service:
        pass
    trip = Trip()
    async with client(service) as http:
        with pytest.raises(ServiceUnreachable):
            await http.post(BODY, trip)
    assert trip.steps == ["connecting"]


async def test_a_tunnel_through_a_proxy_is_part_of_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy's CONNECT is a request as well, but not the one that is told."""
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 502 no\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    trip = Trip()
    http = Http("https://service.example/v1/responses", {})
    async with asyncio.timeout(20):
        with pytest.raises(LooplineError):
            await http.post(BODY, trip)
        await http.close()
    server.close()
    assert asked[0].startswith(b"CONNECT service.example:443")
    assert trip.steps == ["connecting"]


async def test_a_question_has_a_short_answer_or_the_error_of_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.transport.http.MAX_ANSWER_BYTES", 100)
    posts = [Post(body={"a": 1}), Post(body={"a": "x" * 200}), Post(status=404)]
    async with running(posts=posts) as service, client(service) as http:
        url = http_url(service.base_url)
        assert json.loads(await http.ask("POST", url, BODY, Trip(), 5.0)) == {"a": 1}
        with pytest.raises(ProtocolError):
            await http.ask("POST", url, BODY, Trip(), 5.0)
        with pytest.raises(ServiceError) as caught:
            await http.ask("POST", url, BODY, Trip(), 5.0)
    assert caught.value.status == 404


async def test_a_question_that_is_not_answered_ends_in_time() -> None:
    hang = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        await hang.wait()
        writer.close()
        ended.set()

    ended = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/responses"
    http = Http(url, {})
    async with asyncio.timeout(20):
        with pytest.raises(ConnectionLost):
            await http.ask("GET", url, None, Trip(), 0.02)
        await http.close()
        hang.set()
        await ended.wait()
    server.close()
