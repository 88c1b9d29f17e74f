"""A TCP tap before a service: passes everything on, and keeps what the client sent on each connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol


class Tap:
    """`up` holds the bytes of each connection, in the order in which they were opened."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.up: list[bytearray] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def bodies(self) -> list[bytes]:
        """Every create, as it was sent: text frames of an upgraded connection, else bodies of POSTs."""
        return [body for sent in self.up for body in (_frames(sent) if b"Upgrade: websocket" in sent else _posts(sent))]

    def creates(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.bodies()]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        sent = bytearray()
        self.up.append(sent)
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            pumps = {asyncio.create_task(_pump(reader, back, sent)), asyncio.create_task(_pump(there, writer, None))}
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
        finally:
            back.close()
            writer.close()
            self._tasks.discard(task)

    async def stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, kept: bytearray | None) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65_536):
            if kept is not None:
                kept += data
            sink.write(data)
            await sink.drain()


def _frames(sent: bytearray) -> list[bytes]:
    """What follows the upgrade, as whole text frames."""
    protocol = ServerProtocol(max_size=None)
    protocol.receive_data(bytes(sent))
    events = protocol.events_received()
    return [bytes(event.data) for event in events if isinstance(event, Frame) and event.opcode is Opcode.TEXT]


def _posts(sent: bytearray) -> list[bytes]:
    bodies: list[bytes] = []
    rest = bytes(sent)
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        lengths = [
            line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
        ]
        size = int(lengths[0])
        bodies.append(rest[:size])
        rest = rest[size:]
    return bodies


@asynccontextmanager
async def tapped(port: int) -> AsyncIterator[Tap]:
    """A tap to the loopback `port`."""
    tap = Tap(port)
    server = await asyncio.start_server(tap.serve, "127.0.0.1", 0)
    tap.port = server.sockets[0].getsockname()[1]
    try:
        yield tap
    finally:
        server.close()
        await tap.stop()
