"""Runs the real service for tests: in a thread of this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from agent_core.ready_file import wait_ready
from agent_core.responses_server.app import build_app
from agent_core.responses_server.process.run import PromptServer, bind, service_url, uvicorn_config
from agent_core.responses_server.service import Service
from agent_core.responses_server.settings import ApiKey, ServeSettings
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.events import ServiceCall

T = TypeVar("T")

KEY = "test-key-5f2c"
START_TIMEOUT_S = 30.0
TIMEOUT_S = 20.0
"""Bound of every wait in tests; what is waited for takes milliseconds."""

ENDLESS = {"steps": [{"output": [{"text": "a "}, {"pause_ms": 3_600_000}, {"text": "b"}]}]}
"""A rollout of one response that goes on for longer than any test waits, so that only what is tested can end it."""

ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


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


class _Server(PromptServer):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: Any = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.listening.set()

    def stop(self) -> None:
        """From another thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.leave)


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
        server.stop()
        thread.join(START_TIMEOUT_S)
        assert not thread.is_alive(), "the service did not stop"


@contextmanager
def playing(folder: Path, rollout: Any, **changes: Any) -> Iterator[Running]:
    """A service whose model `scripted` plays this rollout."""
    path = folder / f"rollout-{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(rollout))
    with running_service(rollout_file=path, **changes) as running:
        yield running


class Socket:
    """A client that speaks JSON, for tests: one call is all events up to its end."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, event: Any) -> None:
        await self.connection.send(event if isinstance(event, str | bytes) else json.dumps(event))

    async def create(self, **fields: Any) -> None:
        await self.send({"type": "response.create", "model": "scripted", **fields})

    async def read(self, timeout_s: float = TIMEOUT_S) -> Any:
        async with asyncio.timeout(timeout_s):
            return json.loads(await self.connection.recv())

    async def read_until(self, *types: str, timeout_s: float = TIMEOUT_S) -> list[Any]:
        """Events up to the first of one of these types, that one included."""
        events: list[Any] = []
        async with asyncio.timeout(timeout_s):
            while not events or events[-1]["type"] not in types:
                events.append(json.loads(await self.connection.recv()))
        return events

    async def finish(self, timeout_s: float = TIMEOUT_S) -> list[Any]:
        """Events up to the next terminal one or error."""
        return await self.read_until(*ENDS, timeout_s=timeout_s)

    async def call(self, **fields: Any) -> Any:
        """The last event of one call."""
        await self.create(**fields)
        return (await self.finish())[-1]

    async def response(self, **fields: Any) -> Any:
        """The response of one call, which must complete."""
        last = await self.call(**fields)
        assert last["type"] == "response.completed", last
        return last["response"]

    async def closed(self) -> tuple[int | None, str | None]:
        """Close code and reason of the server, once everything before it was read."""
        async with asyncio.timeout(TIMEOUT_S):
            with suppress(ConnectionClosed):
                while True:
                    await self.connection.recv()
        received = self.connection.protocol.close_rcvd
        return (received.code, received.reason) if received is not None else (None, None)


@asynccontextmanager
async def connected(running: Running, **options: Any) -> AsyncIterator[Socket]:
    headers = {**running.headers, **options.pop("headers", {})}
    async with connect(
        running.ws_url, additional_headers=headers, max_size=None, max_queue=None, **options
    ) as connection:
        yield Socket(connection)


@asynccontextmanager
async def http_client(running: Running) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=running.base_url, headers=running.headers, timeout=TIMEOUT_S) as client:
        yield client


def parse_sse(body: str) -> list[tuple[str, Any]]:
    """Event names and data of a whole stream; the closing `[DONE]` is a name of its own."""
    found: list[tuple[str, Any]] = []
    for block in body.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        found.append(("[DONE]", None) if data == "[DONE]" else (fields["event"], json.loads(data)))
    return found


CHILD = """
import sys
from tests.support.service.running import settings_from_json
from agent_core.responses_server.app import serve
sys.exit(serve(settings_from_json(sys.argv[1])))
"""


def settings_from_json(text: str) -> ServeSettings:
    """Settings as `Child` hands them to its process."""
    fields = json.loads(text)
    for name in ("ready_file", "state_dir", "rollout_file"):
        if fields.get(name) is not None:
            fields[name] = Path(fields[name])
    return settings(**fields)


@dataclass
class Child:
    """A service in a process of its own. `life` is the write end of the pipe that it watches."""

    process: asyncio.subprocess.Process
    url: str
    ready_file: Path
    life: int

    @property
    def running(self) -> Running:
        """For `connected` and `http_client`; its service and sink are out of reach."""
        return Running(self.url, None, ListSink())  # type: ignore[arg-type]

    async def ended(self, timeout_s: float = TIMEOUT_S) -> int:
        """Its exit code."""
        async with asyncio.timeout(timeout_s):
            return await self.process.wait()

    def let_go(self) -> None:
        """Close the pipe, as the kernel does when a parent dies."""
        if self.life >= 0:
            os.close(self.life)
            self.life = -1


@asynccontextmanager
async def child_service(folder: Path, **changes: Any) -> AsyncIterator[Child]:
    """`serve` as a process; killed at the end if it still runs."""
    ready_file = folder / "ready.json"
    life_read, life_write = os.pipe()
    fields = {"ready_file": str(ready_file), "parent_pipe_fd": life_read, **changes}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CHILD,
        json.dumps(fields, default=str),
        cwd=Path(__file__).parents[3],
        pass_fds=[life_read],
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(life_read)
    child = Child(process, "", ready_file, life_write)
    try:
        facts = await wait_ready(process, ready_file, START_TIMEOUT_S)
        assert facts is not None or process.returncode is not None, "it neither listens nor ends"
        if facts is not None:
            child.url = json.loads(facts)["url"]
        yield child
    finally:
        child.let_go()
        if process.returncode is None:
            process.kill()
        await process.communicate()
