"""A WebSocket relay between a client and a service that keeps every text frame of both directions."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed


class Relay:
    """`up` and `down` are the frames per connection, in order; `handshakes` counts connections."""

    def __init__(self, url: str) -> None:
        self._target = url.replace("http://", "ws://", 1)
        self.up: list[list[dict[str, Any]]] = []
        self.down: list[list[dict[str, Any]]] = []
        self.bytes_up = 0
        self._server: Server | None = None

    @property
    def handshakes(self) -> int:
        return len(self.up)

    @property
    def base_url(self) -> str:
        assert self._server is not None
        host, port = next(iter(self._server.sockets)).getsockname()[:2]
        return f"http://{host}:{port}/v1"

    async def _serve(self, client: ServerConnection) -> None:
        assert client.request is not None
        headers = {
            key: value
            for key, value in client.request.headers.raw_items()
            if not key.lower().startswith(("sec-", "upgrade", "connection", "host"))
        }
        up: list[dict[str, Any]] = []
        down: list[dict[str, Any]] = []
        self.up.append(up)
        self.down.append(down)
        url = self._target + client.request.path
        async with connect(url, additional_headers=headers, max_size=None, compression=None) as service:
            forward = asyncio.create_task(self._copy(client, service, up, count=True))
            back = asyncio.create_task(self._copy(service, client, down, count=False))
            await asyncio.wait({forward, back}, return_when=asyncio.FIRST_COMPLETED)
            for task in (forward, back):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _copy(
        self,
        source: ServerConnection | ClientConnection,
        target: ServerConnection | ClientConnection,
        kept: list[dict[str, Any]],
        *,
        count: bool,
    ) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for frame in source:
                assert isinstance(frame, str)
                kept.append(json.loads(frame))
                if count:
                    self.bytes_up += len(frame.encode())
                await target.send(frame)


@contextlib.asynccontextmanager
async def relay_to(url: str) -> AsyncIterator[Relay]:
    """A relay on a loopback port to the service at `url` (`http://host:port`)."""
    relay = Relay(url)
    async with serve(relay._serve, "127.0.0.1", 0, max_size=None, compression=None) as server:
        relay._server = server
        yield relay
