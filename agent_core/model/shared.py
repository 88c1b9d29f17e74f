"""What the lanes of one session have in common: its connections, its HTTP pool, and whether WebSocket works."""

from __future__ import annotations

from agent_core.clock import Clock
from agent_core.model.connections import Connections
from agent_core.model.settings import ModelSettings
from agent_core.telemetry.emitter import Emitter
from agent_core.transport.http import Http
from agent_core.transport.urls import http_url


class Shared:
    """Owned by the session's default lane, which closes it."""

    def __init__(self, settings: ModelSettings, clock: Clock, emitter: Emitter, session: str | None) -> None:
        self.settings, self.clock, self.emitter, self.session = settings, clock, emitter, session
        self.connections = Connections(settings, clock, emitter, session)
        self.pool = Http(
            http_url(settings.base_url), settings.request_headers(), open_timeout_s=settings.open_timeout_s
        )
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

    def new_connections(self) -> Connections:
        """Connections that nobody shares, for a lane that the service does not grant."""
        return Connections(self.settings, self.clock, self.emitter, self.session)

    async def close(self) -> None:
        await self.connections.close()
        await self.pool.close()
