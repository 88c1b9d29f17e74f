"""Runs the real service for tests: in a thread of this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from agent_core.responses_server.app import build_app
from agent_core.responses_server.process import bind, service_url, uvicorn_config
from agent_core.responses_server.service import Service
from agent_core.responses_server.settings import ApiKey, ServeSettings
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.events import ServiceCall

KEY = "test-key-5f2c"
START_TIMEOUT_S = 30.0


@dataclass
class Running:
    """A service that listens. `sink` holds its telemetry; `service` its parts, for reading counters."""

    url: str
    service: Service
    sink: ListSink

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def ws_url(self) -> str:
        return f"ws{self.url.removeprefix('http')}/v1/responses"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {KEY}"}

    def service_call(self, response_id: str) -> ServiceCall | None:
        """The `service.call` of a response, None if it is not settled yet."""
        for event in self.sink.events:
            if isinstance(event, ServiceCall) and event.response_id == response_id:
                return event
        return None


def settings(**changes: Any) -> ServeSettings:
    """Test settings: one known key, nothing on disk."""
    return ServeSettings(**{"api_keys": (ApiKey("test", KEY),), **changes})


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextmanager
def running_service(**changes: Any) -> Iterator[Running]:
    """The service in a thread with its own event loop, on a real socket, until the block ends."""
    chosen, sink = settings(**changes), ListSink()
    app = build_app(chosen, sink=sink)
    sock = bind(chosen.host, chosen.port)
    server = _Server(uvicorn_config(app))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])), name="test-service")
    thread.start()
    try:
        assert server.listening.wait(START_TIMEOUT_S), "the service did not start"
        yield Running(service_url(sock), app.state.service, sink)
    finally:
        server.should_exit = True
        thread.join(START_TIMEOUT_S)
        assert not thread.is_alive(), "the service did not stop"
