"""The parts of a running service that its shells share."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Protocol

from agent_core.clock import Clock
from agent_core.errors import EngineError, LooplineError
from agent_core.protocol.server_connection import Policy
from agent_core.responses_server.admission.guard import Guard
from agent_core.responses_server.admission.in_flight import InFlight
from agent_core.responses_server.admission.limits import Limits
from agent_core.responses_server.engines.registry import EngineRegistry
from agent_core.responses_server.metrics.counters import Counters
from agent_core.responses_server.pipeline.respond import Pipeline
from agent_core.responses_server.pipeline.routing import Router
from agent_core.responses_server.settings import ServeSettings
from agent_core.responses_server.state.retention import Retention

log = logging.getLogger(__name__)


class Live(Protocol):
    """An open connection, or an HTTP request, that can be asked to end. `transport`: websocket or http."""

    transport: str

    async def drain(self) -> None:
        """Take nothing new, finish what runs, then close."""

    async def cut(self) -> None:
        """Close now, whatever runs."""


@dataclass
class Service:
    """`live`: open WebSockets and running requests. `in_flight`: responses that run.

    `draining`: the service is on its way out and takes nothing new.

    `limits`: of the API keys. `guard`: who is let in at all. `counters`: what `/metrics` shows.
    `retention`: how much lanes remember.

    `start_error`: why it can't serve. `failed`: it did not end as it should; its process says so by its exit code.
    """

    settings: ServeSettings
    clock: Clock
    policy: Policy
    registry: EngineRegistry
    pipeline: Pipeline
    limits: Limits
    guard: Guard
    counters: Counters
    retention: Retention
    live: set[Live] = field(default_factory=set)
    in_flight: InFlight = field(default_factory=InFlight)
    draining: bool = False
    start_error: LooplineError | None = None
    failed: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def router(self) -> Router:
        """A router for one connection."""
        return Router(self.registry, cached=self.settings.has("route-cache"))

    async def reload(self) -> None:
        """Read the engines of the configuration anew. What runs ends on the engine it began with; routes are void.

        A configuration that can't be used changes nothing.
        """
        if self.settings.reread is None:
            return
        try:
            out = self.registry.replace(*await asyncio.to_thread(self.settings.reread))
        except LooplineError as error:
            log.error("the configuration was not reloaded: %s", error.message)
            return
        log.info("the configuration was reloaded")
        await self.in_flight.over()
        for engine in out:
            try:
                await engine.close()
            except EngineError as error:
                log.error("an engine ended badly: %s", error.message)

    def now_s(self) -> float:
        return self.clock.mono_ns() / 1e9

    async def drain(self) -> None:
        """Stop taking work; every connection finishes what runs and closes by itself."""
        self.draining = True
        for connection in list(self.live):
            await connection.drain()

    async def cut(self) -> None:
        """The grace is over: close what is still open, with the reason."""
        for connection in list(self.live):
            await connection.cut()

    async def idle(self) -> None:
        """Wait until no connection is open and no response runs."""
        while self.live:
            self._changed.clear()
            await self._changed.wait()

    def opened(self, connection: Live) -> None:
        self.live.add(connection)
        self.counters.connections[connection.transport] += 1

    def closed(self, connection: Live) -> None:
        self.live.discard(connection)
        self._changed.set()
