"""A TCP proxy on loopback that adds the time of a real way: half a round trip in each direction, and the set-up.

A new connection costs two round trips before its first byte may leave, as TCP and TLS 1.3 cost them. With `slow_start`
the upload is also held to a congestion window that begins at ten segments, doubles with each round trip, and is reset
after a silence: a model, and an upper bound, since Linux only halves the window for each retransmission time-out of
silence. Bandwidth is not limited and nothing is lost.

Run as `python -m agent_core.bench.delay_proxy PORT RTT_MS [slow-start]`. It prints its own port and serves until its
standard input ends.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Iterator
from typing import Final

SETUP_RTTS: Final = 2
SEGMENT: Final = 1460
FIRST_WINDOW: Final = 10 * SEGMENT
MOST_WINDOW: Final = 4 * 1024 * 1024
IDLE_S: Final = 0.2
"""Silence after which the window is the first one again."""


class Window:
    """When bytes may leave, by slow start. Times are seconds of any clock."""

    def __init__(self, rtt_s: float) -> None:
        self._rtt_s = rtt_s
        self._size = FIRST_WINDOW
        self._round_s = float("-inf")
        self._used = 0
        self._last_s = float("-inf")

    def departures(self, now_s: float, count: int) -> Iterator[tuple[float, int]]:
        """(when, how many) for `count` bytes that are handed over at `now_s`."""
        if now_s - self._last_s > IDLE_S:
            self._size, self._round_s, self._used = FIRST_WINDOW, now_s, 0
        at_s = max(now_s, self._last_s)
        while count:
            if at_s >= self._round_s + self._rtt_s:
                self._size = min(MOST_WINDOW, self._size + self._used)
                self._round_s, self._used = at_s, 0
            take = min(count, self._size - self._used)
            if take:
                self._used += take
                count -= take
                self._last_s = at_s
                yield at_s, take
            else:
                at_s = self._round_s + self._rtt_s


class Way:
    """One direction: bytes arrive, and leave later in their order. `ready_s`: none leaves the sender before."""

    def __init__(self, delay_s: float, ready_s: float = 0.0, window: Window | None = None) -> None:
        self._delay_s, self._ready_s, self._window = delay_s, ready_s, window
        self._loop = asyncio.get_running_loop()
        self._on_its_way: deque[bytes | None] = deque()
        """Oldest first, None for the end: timers of one instant run in any order, so each takes what is first."""
        self._last_s = 0.0
        self.out: asyncio.Transport | None = None

    def feed(self, data: bytes) -> None:
        leave_s = max(self._loop.time(), self._ready_s)
        if self._window is None:
            self._send(leave_s, data)
            return
        start = 0
        for at_s, count in self._window.departures(leave_s, len(data)):
            self._send(at_s, data[start : start + count])
            start += count

    def end(self) -> None:
        """The sender closed: so does the other side, after all that is on its way."""
        self._send(max(self._loop.time(), self._ready_s), None)

    def _send(self, at_s: float, data: bytes | None) -> None:
        """`data` leaves at `at_s`, or with what left before it if that was later."""
        self._last_s = max(self._last_s, at_s)
        self._on_its_way.append(data)
        self._loop.call_at(self._last_s + self._delay_s, self._deliver)

    def _deliver(self) -> None:
        data = self._on_its_way.popleft()
        if self.out is None or self.out.is_closing():
            return
        if data is None:
            self.out.close()
        else:
            self.out.write(data)


class _Side(asyncio.Protocol):
    """One end of a connection. `open_ones`: transports that are open."""

    def __init__(self, onward: Way, back: Way, open_ones: set[asyncio.Transport]) -> None:
        self._onward, self._back, self._open_ones = onward, back, open_ones

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._back.out = transport
        self._open_ones.add(transport)

    def data_received(self, data: bytes) -> None:
        self._onward.feed(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._back.out is not None:
            self._open_ones.discard(self._back.out)
        self._onward.end()


class DelayProxy:
    """Accepts connections to `target_port` on loopback. Use it as an async context; inside it has a `port`."""

    port = 0

    def __init__(self, target_port: int, rtt_s: float, *, slow_start: bool = False) -> None:
        self._target_port, self._rtt_s, self._slow_start = target_port, rtt_s, slow_start
        self._tasks: set[asyncio.Task[None]] = set()
        self._open_ones: set[asyncio.Transport] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> DelayProxy:
        self._server = await asyncio.get_running_loop().create_server(self._accepted, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cut off whatever is open."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        for transport in tuple(self._open_ones):
            transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the transports' own last step

    def _accepted(self) -> asyncio.Protocol:
        loop = asyncio.get_running_loop()
        window = Window(self._rtt_s) if self._slow_start else None
        up = Way(self._rtt_s / 2, loop.time() + SETUP_RTTS * self._rtt_s, window)
        down = Way(self._rtt_s / 2)
        task = loop.create_task(self._connect(up, down))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return _Side(up, down, self._open_ones)

    async def _connect(self, up: Way, down: Way) -> None:
        """To the target, at once: that takes less than the first byte does."""
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: _Side(down, up, self._open_ones), "127.0.0.1", self._target_port
            )
        except OSError:
            down.end()


async def _serve(target_port: int, rtt_s: float, slow_start: bool) -> None:
    async with DelayProxy(target_port, rtt_s, slow_start=slow_start) as proxy:
        sys.stdout.write(f"{proxy.port}\n")
        sys.stdout.flush()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]) / 1000, "slow-start" in sys.argv[3:]))
