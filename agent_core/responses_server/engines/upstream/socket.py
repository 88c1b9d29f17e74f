"""One call over a WebSocket that belongs to the conversation: what the server remembers is not sent again.

A lane has its own socket, so its calls are one chain. Source: OpenAI guide "WebSocket mode" (continuation, eviction).
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator
from hashlib import blake2b
from typing import Any, Final

from agent_core.errors import ConnectionLost, ServiceError
from agent_core.responses_server.engine import Delta, EngineRequest
from agent_core.responses_server.engines.upstream.lane import LaneMemory, LaneSocket
from agent_core.responses_server.engines.upstream.responses import ResponsesReader, create_frame, input_items
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings
from agent_core.transport.urls import websocket_url
from agent_core.transport.websocket import WebSocket
from agent_core.wire.codec import encode

_GONE: Final = frozenset({"previous_response_not_found", "websocket_connection_limit_reached"})
"""Codes by which a server says that nothing ran and what to continue is lost."""


class Sockets:
    """Opens the lanes' sockets and sees to it that none outlives its lane, or the engine."""

    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self._open: set[WebSocket] = set()

    async def ready(self, lane: LaneMemory) -> LaneSocket:
        """The lane's socket; a new one if it has none or has lost it. Raises what `WebSocket.open` raises."""
        if lane.socket is not None and lane.socket.socket.lost is None:
            return lane.socket
        settings = self._settings
        socket = await WebSocket.open(
            websocket_url(settings.url), settings.all_headers, open_timeout_s=settings.connect_timeout_s
        )
        self._open = {each for each in self._open if each.lost is None} | {socket}
        lane.socket = LaneSocket(socket)
        loop = asyncio.get_running_loop()
        weakref.finalize(lane.socket, _abort, loop, socket).atexit = False
        return lane.socket

    async def call(
        self, request: EngineRequest, lane: LaneMemory, body: dict[str, Any], reader: ResponsesReader
    ) -> AsyncGenerator[Delta, None]:
        """The deltas of one answer, but its end; stopped by closing the iterator, which costs the socket.

        A socket that turns out to be dead, or a server that has forgotten the chain, costs one full input.
        """
        fields = blake2b(encode(body), digest_size=16).digest()
        held = await self.ready(lane)
        try:
            for attempt in (0, 1):
                continues = attempt == 0 and held.previous is not None and held.fields == fields
                try:
                    await held.socket.send(_frame(request, lane, body, held.previous if continues else None))
                    events = await held.socket.receive(self._settings.silence_s)
                    deltas = reader.read(events.pop(0))
                except (ConnectionLost, ServiceError) as failure:
                    if attempt or not (continues or isinstance(failure, ConnectionLost)):
                        raise
                    if isinstance(failure, ServiceError) and failure.code not in _GONE:
                        raise
                    if isinstance(failure, ConnectionLost) or failure.code != "previous_response_not_found":
                        self._drop(lane)
                        held = await self.ready(lane)
                    continue
                break
            for delta in deltas:
                yield delta
            while not reader.complete:
                for data in events:
                    for delta in reader.read(data):
                        yield delta
                events = [] if reader.complete else await held.socket.receive(self._settings.silence_s)
            held.previous, held.fields = reader.response_id or None, fields
        finally:
            if not reader.complete:
                self._drop(lane)

    async def close(self) -> None:
        for socket in self._open:
            socket.abort()
        self._open.clear()

    def _drop(self, lane: LaneMemory) -> None:
        """The socket of a lane whose next events would belong to nobody."""
        if lane.socket is not None:
            lane.socket.socket.abort()
            self._open.discard(lane.socket.socket)
            lane.socket = None


def _frame(request: EngineRequest, lane: LaneMemory, body: dict[str, Any], previous: str | None) -> bytes:
    start = request.first_new if previous is not None else 0
    items = input_items(request.items, start, lane.spans)
    return create_frame({**body, "input": items, **({"previous_response_id": previous} if previous else {})})


def _abort(loop: asyncio.AbstractEventLoop, socket: WebSocket) -> None:
    """The lane is gone; whoever collected it may be another thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(socket.abort)
