"""Peers that take their time: half-sent heads and bodies, readers that never read, keys tried one after the other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from agent_core import peer_deadlines
from agent_core.responses_server.process.coalescing import CoalescingHttp, CoalescingProtocol
from tests.support.service.running import KEY, Running, connected, http_client, running_service
from tests.support.system.waiting import eventually
from tests.support.web.running import running_site

SHORT_S = 0.3
ENDED_S = 15.0
HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer " + KEY.encode() + b"\r\n"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of both servers, short enough to wait for."""
    for kind in (peer_deadlines.TimedHttp, CoalescingHttp):
        monkeypatch.setattr(kind, "head_s", SHORT_S)
        monkeypatch.setattr(kind, "body_s", SHORT_S)
        monkeypatch.setattr(kind, "look_again_s", SHORT_S / 10)
    for reader in (CoalescingHttp, CoalescingProtocol):
        monkeypatch.setattr(reader, "read_s", SHORT_S)


@pytest.fixture
def service_in_a_hurry(hurried: None) -> Iterator[Running]:
    with running_service() as running:
        yield running


@asynccontextmanager
async def raw(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host, port = url.removeprefix("http://").rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def end_of(url: str, pieces: list[bytes], drip: bytes = b"") -> bytes:
    """What the server says until it closes; `drip` is sent again and again meanwhile."""
    async with asyncio.timeout(ENDED_S), raw(url) as (reader, writer):

        async def dripping() -> None:
            with suppress(OSError):
                while drip:
                    writer.write(drip)
                    await writer.drain()
                    await asyncio.sleep(SHORT_S / 10)

        for piece in pieces:
            writer.write(piece)
        task = asyncio.create_task(dripping())
        try:
            with suppress(ConnectionError):
                return await reader.read()
            return b""
        finally:
            task.cancel()


@pytest.mark.rule("peers.slow")
@pytest.mark.parametrize(
    ("pieces", "drip"),
    [
        ([], b""),
        ([b"G"], b""),
        ([b"POST /v1/resp"], b""),
        ([HEAD], b""),
        ([HEAD], b"x-more: 1\r\n"),
        ([HEAD + b"content-length: 100\r\n\r\n"], b""),
        ([HEAD + b"content-length: 1000000\r\n\r\n{"], b" "),
        ([HEAD + b"transfer-encoding: chunked\r\n\r\n"], b"1\r\n \r\n"),
        ([HEAD.replace(b"POST", b"GET").replace(KEY.encode(), b"wrong") + b"content-length: 9\r\n\r\n"], b""),
    ],
)
async def test_what_does_not_arrive_ends(service_in_a_hurry: Running, pieces: list[bytes], drip: bytes) -> None:
    said = await end_of(service_in_a_hurry.url, pieces, drip)
    assert said == b"" or said.startswith((b"HTTP/1.1 408", b"HTTP/1.1 401")), said
    async with http_client(service_in_a_hurry) as client:
        assert (await client.get("/models")).status_code == 200


@pytest.mark.rule("peers.slow")
async def test_a_second_request_that_does_not_arrive_ends_too(service_in_a_hurry: Running) -> None:
    async with asyncio.timeout(ENDED_S), raw(service_in_a_hurry.url) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200")
        writer.write(b"GET /heal")
        assert (await reader.read()).startswith(b"HTTP/1.1 408")


@pytest.mark.rule("peers.slow")
async def test_a_body_that_comes_steadily_may_take_its_time(service_in_a_hurry: Running) -> None:
    """Well beyond the limit for none, at more than the least rate."""
    body = b'{"model":"scripted","input":"' + b"a" * 60_000 + b'","store":false}'
    async with asyncio.timeout(ENDED_S), raw(service_in_a_hurry.url) as (reader, writer):
        writer.write(HEAD + b"content-length: %d\r\n\r\n" % len(body))
        for start in range(0, len(body), 6_000):
            writer.write(body[start : start + 6_000])
            await writer.drain()
            await asyncio.sleep(SHORT_S / 5)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")


@pytest.mark.rule("peers.slow")
async def test_a_socket_and_a_long_response_may_be_silent_for_longer(service_in_a_hurry: Running) -> None:
    """The limits are of requests that arrive, not of those that are served."""
    async with connected(service_in_a_hurry) as unused, connected(service_in_a_hurry) as socket_:
        await socket_.response(input="go", store=False)
        for connection in (unused.connection, socket_.connection):
            with suppress(TimeoutError):
                await asyncio.wait_for(connection.wait_closed(), 5 * SHORT_S)
        await unused.response(input="go", store=False)
        await socket_.response(input="go", store=False)
    async with http_client(service_in_a_hurry) as client:
        slow = {"model": "scripted:slow", "input": "go", "store": False}
        assert (await client.post("/responses", json=slow)).json()["status"] == "completed"


@pytest.mark.rule("peers.slow")
async def test_who_never_reads_is_dropped_and_its_response_ends(service_in_a_hurry: Running) -> None:
    """Long instructions come back in every event, so a few responses fill all buffers."""
    running = service_in_a_hurry
    create = b'{"model":"scripted","input":"go","store":false,"stream":true,"instructions":"' + b"a" * 8_000_000 + b'"}'
    host, port = running.url.removeprefix("http://").rsplit(":", 1)
    with socket.create_connection((host, int(port))) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.to_thread(deaf.sendall, HEAD + b"content-length: %d\r\n\r\n" % len(create) + create)
        await eventually(lambda: running.service.live)
        await eventually(lambda: not running.service.live)
    async with connected(running, compression=None) as socket_:
        socket_.connection.transport.pause_reading()
        await socket_.create(input="go", store=False, instructions="a" * 8_000_000)
        await eventually(lambda: running.service.live)
        await eventually(lambda: not running.service.live)


@pytest.mark.rule("peers.wrong_keys")
async def test_wrong_keys_are_limited_and_a_right_one_is_let_in() -> None:
    with running_service() as running:
        async with httpx.AsyncClient(base_url=running.base_url) as client:
            wrong = {"authorization": "Bearer wrong"}
            answers = [await client.get("/models", headers=wrong) for _ in range(120)]
            right = await client.get("/models", headers=running.headers)
        told = {answer.status_code for answer in answers}
        assert told == {401, 429}
        refused = [answer for answer in answers if answer.status_code == 429]
        assert all(answer.headers["retry-after"] for answer in refused)
        assert {answer.json()["error"]["code"] for answer in refused} == {"rate_limit_exceeded"}
        assert right.status_code == 200
        assert running.service.guard.refused["rate"] > 0


@pytest.mark.rule("peers.slow")
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET /heal"],
        [b"POST /api/ingest HTTP/1.1\r\nhost: 127.0.0.1\r\n"],
        [b"POST /api/ingest HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer x\r\ncontent-length: 99\r\n\r\n{"],
    ],
)
async def test_the_hub_waits_no_longer(tmp_path: Path, pieces: list[bytes]) -> None:
    async with running_site(tmp_path) as site:
        said = await end_of(site.url, pieces)
    assert said.startswith((b"HTTP/1.1 408", b"HTTP/1.1 403", b"HTTP/1.1 401")), said
