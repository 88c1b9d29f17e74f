"""Runs the app on a socket: the listener, the process's signals, an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from agent_core.errors import ConfigError
from agent_core.peer_deadlines import TimedHttp

log = logging.getLogger(__name__)

SEND_BUFFER = 256 << 10
"""What the kernel holds for a browser that does not read."""
UNACKED_MS = 30_000
"""A peer that acknowledges nothing for this long is gone, whatever it said last."""
SHUTDOWN_S = 3
BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; `port` 0 takes any free one. Raises ConfigError if the address can't be had."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            with contextlib.suppress(OSError, AttributeError):
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKED_MS)
            listener.bind(address)
            listener.listen(BACKLOG)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError("--host, --port", "", "an address to listen on", got=f"{host}:{port} ({reason})") from None
    return listener


class _Uvicorn(uvicorn.Server):
    """Says when it serves, and leaves signals to whoever runs it."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serves = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serves.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server:
    """One uvicorn server on one listener."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="off", ws="none",
            timeout_graceful_shutdown=SHUTDOWN_S, timeout_keep_alive=30, h11_max_incomplete_event_size=32 << 10,
            proxy_headers=False, http=TimedHttp,
        )  # fmt: skip
        self._server, self._listener = _Uvicorn(config), listener

    def abort(self, peer: tuple[str, int] | None) -> None:
        """Drop a peer's connection at once; what was not sent is given up."""
        for connection in list(self._server.server_state.connections):
            found: Any = connection
            if peer is not None and getattr(found, "client", None) == tuple(peer) and found.transport is not None:
                found.transport.abort()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves within; ends open connections in order when left."""
        serving = asyncio.create_task(self._server.serve([self._listener]), name="web-server")
        starting = asyncio.create_task(self._server.serves.wait(), name="web-server-start")
        try:
            await asyncio.wait({serving, starting}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            yield
        finally:
            starting.cancel()
            self._server.should_exit = True
            await asyncio.wait([serving, starting], timeout=SHUTDOWN_S + 5)
            if not serving.done():
                log.warning("the web server did not end in time")
                serving.cancel()
                await asyncio.wait([serving])
