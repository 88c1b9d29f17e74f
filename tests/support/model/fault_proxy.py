"""A TCP proxy before a service that breaks connections by a seeded die: in mid-frame, at once, or by saying garbage.

It knows nothing of what goes through it. Each connection draws what becomes of it, and after how many bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

FAULTS = ("close", "reset", "cut upload", "garbage", "truncate", "refuse", "pause")
BUFFER = 4096


class FaultProxy:
    """`faults` counts what was done. With `odds` 0 it only passes on."""

    def __init__(self, seed: int, target: tuple[str, int], odds: float, most: int) -> None:
        self._die = random.Random(seed)
        self._target, self._odds, self._left = target, odds, most
        self.faults: Counter[str] = Counter()
        self.connections = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        fault, after = self._draw()
        try:
            if fault == "refuse":
                self._count(fault)
                _reset(writer)
                return
            there, back = await asyncio.open_connection(*self._target)
            try:
                up = asyncio.create_task(self._pump(reader, back, fault if fault == "cut upload" else None, after))
                down = asyncio.create_task(self._pump(there, writer, None if fault == "cut upload" else fault, after))
                await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
                for each in (up, down):
                    each.cancel()
                await asyncio.wait({up, down})
            finally:
                back.close()
        except OSError:
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _draw(self) -> tuple[str | None, int]:
        """What becomes of a connection, and after how many bytes of the direction that it concerns."""
        if self._left <= 0 or self._die.random() >= self._odds:
            return None, 0
        fault = self._die.choice(FAULTS)
        return fault, self._die.randrange(400, 4_000 if fault == "cut upload" else 30_000)

    def _count(self, fault: str) -> None:
        self._left -= 1
        self.faults[fault] += 1

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, fault: str | None, after: int
    ) -> None:
        """Pass bytes on; when `after` of them have gone, do what `fault` says."""
        with contextlib.suppress(OSError):
            passed = 0
            while data := await source.read(BUFFER):
                if fault is None or passed + len(data) < after:
                    passed += len(data)
                    sink.write(data)
                    await sink.drain()
                    continue
                cut = after - passed
                self._count(fault)
                sink.write(data[:cut])
                await sink.drain()
                if fault == "pause":
                    await asyncio.sleep(0.3)
                    sink.write(data[cut:])
                    fault = None
                    continue
                if fault == "garbage":
                    sink.write(bytes(self._die.randrange(256) | 0x80 for _ in range(64)) + data[cut:])
                    await sink.drain()
                elif fault == "truncate":
                    sink.write(data[cut + 1 :])
                    await sink.drain()
                elif fault == "reset":
                    _reset(sink)
                if fault in ("garbage", "truncate"):
                    fault = None
                    passed += len(data)
                    continue
                return


def _reset(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def faulty(seed: int, port: int, *, odds: float = 0.8, most: int = 8) -> AsyncIterator[FaultProxy]:
    """A proxy to the loopback `port`; it does at most `most` faults, so that whoever tries again gets through."""
    proxy = FaultProxy(seed, ("127.0.0.1", port), odds, most)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.stop()
