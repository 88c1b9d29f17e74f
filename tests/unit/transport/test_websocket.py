"""The WebSocket shell against a real socket."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agent_core.errors import (
    AuthError,
    ConnectionLost,
    HandshakeRefused,
    LooplineError,
    MessageTooLarge,
    ServiceError,
    ServiceUnreachable,
)
from agent_core.transport.urls import websocket_url
from agent_core.transport.websocket import MAX_FRAME_BYTES, WebSocket
from tests.support.model.scripted_greeting import greeting
from tests.support.model.scripted_service import Peer, Refuse, ScriptedService, running

KEY = "sk-secret-0123456789"
FRAME = {"type": "codex.rate_limits"}


async def opened(service: ScriptedService) -> WebSocket:
    return await WebSocket.open(websocket_url(service.base_url), {"Authorization": f"Bearer {KEY}"})


@contextmanager
def unused_port() -> Iterator[int]:
    """A port that is bound, so that nobody takes it, and where nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


async def until_lost(ws: WebSocket) -> None:
    while ws.lost is None:  # noqa: ASYNC110 - the shell tells a loss to whoever receives; nobody does here
        await asyncio.sleep(0)


async def test_frames_go_both_ways_as_text_and_come_in_batches() -> None:
    async def script(peer: Peer) -> None:
        create = await peer.next()
        await peer.send({"echo": create["input"]}, FRAME, FRAME)
        await peer.next("done")

    async with running(script) as service, asyncio.timeout(10):
        ws = await opened(service)
        await ws.send(b'{"type":"response.create","input":[{"text":"\xc3\xa9"}]}')
        got: list[bytes] = []
        while len(got) < 3:
            got += await ws.receive()
        assert got[0] == b'{"echo": [{"text": "\\u00e9"}]}'
        await ws.send(b'{"type":"done"}')
        await ws.close()
        request = service.handshakes[0]
    assert request.path == "/v1/responses"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert "Sec-WebSocket-Extensions" not in request.headers


@pytest.mark.parametrize(
    ("refusal", "error", "status"),
    [
        (Refuse(401), AuthError, None),
        (Refuse(403), AuthError, None),
        (Refuse(426), HandshakeRefused, 426),
        (Refuse(404), HandshakeRefused, 404),
        (Refuse(500), HandshakeRefused, 500),
        (Refuse(429, {"Retry-After": "7"}), ServiceError, 429),
        (Refuse(503), ServiceError, 503),
    ],
)
async def test_a_refused_handshake_says_what_kind_of_refusal(
    refusal: Refuse, error: type[LooplineError], status: int | None
) -> None:
    async with running(refusal) as service, asyncio.timeout(10):
        with pytest.raises(error) as caught:
            await opened(service)
    assert getattr(caught.value, "status", None) == status
    assert getattr(caught.value, "retry_after_s", None) == (7.0 if status == 429 else None)
    assert KEY not in str(caught.value)


async def test_nothing_listening_is_unreachable_with_the_address_and_a_way_out() -> None:
    with unused_port() as port, pytest.raises(ServiceUnreachable) as caught:
        await WebSocket.open(f"ws://127.0.0.1:{port}/v1/responses?key=hidden", {})
    assert f"127.0.0.1:{port}" in caught.value.message
    assert "hidden" not in caught.value.message
    assert caught.value.hint


async def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(ServiceUnreachable):
        await WebSocket.open("ws://host.invalid/v1/responses", {}, open_timeout_s=10)


async def test_a_handshake_without_an_answer_ends_in_time() -> None:
    async with asyncio.timeout(10), greeting(b"") as url:
        with pytest.raises(HandshakeRefused) as caught:
            await WebSocket.open(websocket_url(url), {}, open_timeout_s=0.05)
    assert caught.value.status == 408


async def test_a_peer_that_does_not_speak_http_breaks_the_handshake_off() -> None:
    async with asyncio.timeout(10), greeting(b"220 mail ready\r\n\r\n") as url:
        with pytest.raises(ConnectionLost):
            await WebSocket.open(websocket_url(url), {})


async def test_a_handshake_that_is_reset_was_answered_by_somebody() -> None:
    """So it is tried again, where an address at which nobody listens is not."""

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    server = await asyncio.start_server(reset, "127.0.0.1", 0)
    async with server, asyncio.timeout(10):
        with pytest.raises(ConnectionLost):
            await WebSocket.open(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/responses", {})


async def test_frames_before_a_close_are_delivered_before_the_loss_is_told() -> None:
    async def script(peer: Peer) -> None:
        await peer.send(FRAME)
        await peer.close(1012)

    async with running(script) as service, asyncio.timeout(10):
        ws = await opened(service)
        await until_lost(ws)
        assert len(await ws.receive()) == 1
        with pytest.raises(ConnectionLost) as caught:
            await ws.receive()
        with pytest.raises(ConnectionLost):
            await ws.send(b"{}")
    assert caught.value.close_code == 1012


@pytest.mark.parametrize("end", [Peer.drop, Peer.reset])
async def test_a_socket_without_a_closing_handshake_is_lost_without_a_code(end: object) -> None:
    async def script(peer: Peer) -> None:
        await peer.send_half(FRAME)
        await end(peer)  # type: ignore[operator]

    async with running(script) as service, asyncio.timeout(10):
        ws = await opened(service)
        with pytest.raises(ConnectionLost) as caught:
            await ws.receive()
    assert caught.value.close_code is None


async def test_a_close_is_seen_while_nobody_receives() -> None:
    """The reader always reads, so that a dead socket is found before a send."""
    async with running(lambda peer: peer.close(1001)) as service, asyncio.timeout(10):
        ws = await opened(service)
        await until_lost(ws)
        with pytest.raises(ConnectionLost):
            await ws.send(b"{}")


async def test_a_frame_above_the_limit_is_refused_before_a_byte_is_written() -> None:
    """lidge-jun/opencodex#2426: above 16 MiB the service closes with 1009, and a client reconnects for ever."""

    async def script(peer: Peer) -> None:
        assert (await peer.next())["input"] == []

    async with running(script) as service, asyncio.timeout(10):
        ws = await opened(service)
        with pytest.raises(MessageTooLarge):
            await ws.send(b" " * (MAX_FRAME_BYTES + 1))
        await ws.send(b'{"type":"response.create","input":[]}')
        await ws.close()
    assert 16_777_216 - 4096 < MAX_FRAME_BYTES < 16_777_216


async def test_silence_with_pongs_is_alive() -> None:
    """openai/codex#43022, #39771: a response may think for long; only a peer that answers no ping is dead."""
    pings = asyncio.Event()

    async def script(peer: Peer) -> None:
        await pings.wait()
        await peer.send(FRAME)
        await peer.left()

    async with running(script) as service, asyncio.timeout(10):
        url = websocket_url(service.base_url)
        ws = await WebSocket.open(websocket_url(url), {}, ping_interval_s=0.01, ping_timeout_s=9.0)
        waiting = asyncio.create_task(ws.receive())
        await asyncio.sleep(0.1)  # ten pings go by; this is the silence that is tested
        assert not waiting.done()
        pings.set()
        assert len(await waiting) == 1
        await ws.close()


async def test_a_peer_that_answers_no_ping_is_dead() -> None:
    async def script(peer: Peer) -> None:
        peer.deaf = True
        await peer.left()

    async with running(script) as service, asyncio.timeout(10):
        url = websocket_url(service.base_url)
        ws = await WebSocket.open(websocket_url(url), {}, ping_interval_s=0.02, ping_timeout_s=0.05)
        with pytest.raises(ConnectionLost):
            await ws.receive()


async def test_the_silence_limit_is_separate_from_liveness() -> None:
    async with running(Peer.left) as service, asyncio.timeout(10):
        ws = await opened(service)
        with pytest.raises(ConnectionLost):
            await ws.receive(0.02)
        assert ws.lost is None
        await ws.close()


async def test_a_cancelled_wait_loses_nothing() -> None:
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        await go.wait()
        await peer.send(FRAME)
        await peer.left()

    async with running(script) as service, asyncio.timeout(10):
        ws = await opened(service)
        waiting = asyncio.create_task(ws.receive())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        go.set()
        assert len(await ws.receive()) == 1
        await ws.close()


async def test_no_header_reaches_any_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("websockets").setLevel(logging.DEBUG)
    async with running(Refuse(401), Peer.left) as service, asyncio.timeout(10):
        with pytest.raises(AuthError):
            await opened(service)
        ws = await opened(service)
        await ws.close()
    assert KEY not in caplog.text


async def test_a_message_in_several_frames_is_one_message() -> None:
    async def script(peer: Peer) -> None:
        await peer.send_in_pieces({"text": "h\u00e9llo" * 50}, 7)
        await peer.send(FRAME)
        await peer.left()

    async with running(script) as service, asyncio.timeout(10):
        ws = await opened(service)
        got: list[bytes] = []
        while len(got) < 2:
            got += await ws.receive()
        await ws.close()
    assert [json.loads(message) for message in got] == [{"text": "h\u00e9llo" * 50}, FRAME]


async def test_a_service_faster_than_its_reader_is_slowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.transport.websocket.MAX_WAITING_BYTES", 100_000)
    count = 400

    async def script(peer: Peer) -> None:
        for n in range(count):
            await peer.send({"n": n, "pad": "x" * 10_000})
        await peer.left()

    async with running(script) as service, asyncio.timeout(20):
        ws = await opened(service)
        transport = ws._socket.transport
        while transport.is_reading():  # noqa: ASYNC110 - a socket tells nobody that it stopped to read
            await asyncio.sleep(0)
        got = ws.take()
        assert sum(map(len, got)) < 500_000  # the limit and one read of the socket beyond it
        assert transport.is_reading()
        while len(got) < count:
            got += await ws.receive()
        await ws.close()
    assert [json.loads(message)["n"] for message in got] == list(range(count))
