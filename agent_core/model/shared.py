"""What the lanes of one session have in common: its connections, its HTTP pool, and whether WebSocket works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agent_core.clock import Clock
from agent_core.model.connections import Connections
from agent_core.model.settings import ModelSettings
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import ConnectionOpened
from agent_core.transport.http import Http
from agent_core.transport.urls import http_url

NO_ENDPOINT: Final = frozenset({404, 405, 410, 501})
"""Statuses by which a service says that it has no such endpoint."""


class Shared:
    """Owned by the session's default lane, which closes it."""

    def __init__(self, settings: ModelSettings, clock: Clock, emitter: Emitter, session: str | None) -> None:
        self.settings, self.clock, self.emitter, self.session = settings, clock, emitter, session
        self.connections = Connections(settings, clock, emitter, session)
        self.pool = Http(
            http_url(settings.base_url), settings.request_headers(), open_timeout_s=settings.open_timeout_s
        )
        self.cannot_compact = False
        """The service said that it has no standalone compaction."""
        self.http_until_ns: int | None = None
        """WebSocket failed: HTTP is used until then, and WebSocket is on probation until it carries a call again."""

    @property
    def on_probation(self) -> bool:
        return self.http_until_ns is not None

    def prefers_http(self) -> bool:
        """Whether the next call goes over HTTP."""
        if self.settings.transport == "http":
            return True
        return self.http_until_ns is not None and self.clock.mono_ns() < self.http_until_ns

    def fall_back(self) -> None:
        self.http_until_ns = self.clock.mono_ns() + int(self.settings.websocket_again_after_s * 1e9)

    def works_again(self) -> None:
        self.http_until_ns = None

    async def ask(self, url: str, body: bytes) -> bytes:
        """POST a short question over the pool; its answer's body. Raises TransportError, AuthError, ServiceError."""
        trip = Trip(self.clock, self.tell_opened)
        return await self.pool.ask("POST", url, body, trip, self.settings.ask_timeout_s)

    def tell_opened(self, handshake_ms: float) -> None:
        """Tell a TCP connection of the pool. It has no id: which one serves a POST is the pool's business."""
        self.emitter.emit(ConnectionOpened(handshake_ms=handshake_ms, cause="http", session=self.session))

    def new_connections(self) -> Connections:
        """Connections that nobody shares, for a lane that the service does not grant."""
        return Connections(self.settings, self.clock, self.emitter, self.session)

    async def close(self) -> None:
        await self.connections.close()
        await self.pool.close()


class Trip:
    """The way of one POST, with its stamps. `left` is told when its first byte left."""

    def __init__(
        self, clock: Clock, opened: Callable[[float], None], left: Callable[[int], None] = lambda since_ns: None
    ) -> None:
        self._clock, self._opened, self._left = clock, opened, left
        self._since_ns = 0
        self.has_left = False

    def connecting(self) -> None:
        self._since_ns = self._clock.mono_ns()

    def connected(self) -> None:
        self._opened(round((self._clock.mono_ns() - self._since_ns) / 1e6, 3))

    def leaving(self) -> None:
        self._since_ns = self._clock.mono_ns()

    def left(self) -> None:
        self.has_left = True
        self._left(self._since_ns)
