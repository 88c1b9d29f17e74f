"""The delay proxy: its window on a clock of its own, itself over real sockets."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pytest

from agent_core.bench.delay_proxy import FIRST_WINDOW, IDLE_S, MOST_WINDOW, DelayProxy, Way, Window

RTT_S = 0.05


def rounds(window: Window, now_s: float, count: int) -> list[tuple[float, int]]:
    """Bytes by round trip since `now_s`."""
    found: dict[float, int] = {}
    for at_s, size in window.departures(now_s, count):
        key = round((at_s - now_s) / RTT_S, 6)
        found[key] = found.get(key, 0) + size
    return sorted(found.items())


def test_a_window_doubles_with_each_round_trip() -> None:
    sent = rounds(Window(RTT_S), 10.0, FIRST_WINDOW * 7)
    assert sent == [(0.0, FIRST_WINDOW), (1.0, 2 * FIRST_WINDOW), (2.0, 4 * FIRST_WINDOW)]


def test_what_fits_leaves_at_once_and_silence_starts_anew() -> None:
    window = Window(RTT_S)
    assert rounds(window, 10.0, FIRST_WINDOW) == [(0.0, FIRST_WINDOW)]
    assert rounds(window, 10.0 + RTT_S, 2 * FIRST_WINDOW) == [(0.0, 2 * FIRST_WINDOW)]
    assert rounds(window, 10.0 + 2 * RTT_S + IDLE_S + 0.01, 2 * FIRST_WINDOW) == [
        (0.0, FIRST_WINDOW),
        (1.0, FIRST_WINDOW),
    ]


def test_a_window_has_an_end_and_loses_nothing() -> None:
    count = 40 * MOST_WINDOW
    sent = rounds(Window(RTT_S), 0.0, count)
    assert sum(size for _, size in sent) == count
    assert max(size for _, size in sent) == MOST_WINDOW


class Target(asyncio.Protocol):
    """Sends back what it gets, or says `bye` and closes. `gone` is set when its connection has ended."""

    def __init__(self, *, short: bool = False) -> None:
        self._short = short
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._short:
            transport.write(b"bye")
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.gone.set()


async def listening(target: Target) -> asyncio.Server:
    return await asyncio.get_running_loop().create_server(lambda: target, "127.0.0.1", 0)


@pytest.mark.parametrize("slow_start", [False, True])
async def test_bytes_come_through_whole_and_late(slow_start: bool) -> None:
    target = Target()
    server = await listening(target)
    port = server.sockets[0].getsockname()[1]
    sent = bytes(range(256)) * 400
    async with asyncio.timeout(20), DelayProxy(port, RTT_S, slow_start=slow_start) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        start_s = time.monotonic()
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        first_s = time.monotonic() - start_s
        start_s = time.monotonic()
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        second_s = time.monotonic() - start_s
        writer.close()
        await writer.wait_closed()
        await target.gone.wait()
    server.close()
    assert first_s > 3 * RTT_S * 0.95, "two for the set-up, one for the way"
    assert second_s > RTT_S * (0.95 if not slow_start else 2.95)


async def test_pieces_of_one_instant_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timers that are due together run in no order that anyone promises."""

    class Out(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.got: list[bytes] = []
            self.closed = asyncio.Event()

        def is_closing(self) -> bool:
            return False

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.got.append(bytes(data))

        def close(self) -> None:
            self.closed.set()

    way, out = Way(0.001), Out()
    way.out = out
    now_s = asyncio.get_running_loop().time()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now_s)
    pieces = [str(number).encode() for number in range(200)]
    for piece in pieces:
        way.feed(piece)
    way.end()
    monkeypatch.undo()
    async with asyncio.timeout(10):
        await out.closed.wait()
    assert out.got == pieces


async def test_a_side_that_closes_closes_the_other() -> None:
    target = Target(short=True)
    server = await listening(target)
    async with asyncio.timeout(20), DelayProxy(server.sockets[0].getsockname()[1], RTT_S) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await reader.read() == b"bye"
        writer.close()
        await writer.wait_closed()
        await target.gone.wait()
    server.close()


async def test_what_is_open_is_cut_off_at_the_end() -> None:
    target = Target()
    server = await listening(target)
    async with asyncio.timeout(20):
        async with DelayProxy(server.sockets[0].getsockname()[1], RTT_S) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(b"x")
            assert await reader.readexactly(1) == b"x"
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        await target.gone.wait()
    server.close()
