"""A model session on a scripted service, a clock that jumps, and a conversation that grows as the agent's does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from agent_core.errors import ConnectionLost
from agent_core.model.port import CallItem, CallRequest, CallResult, Items
from agent_core.model.session import ModelSession
from agent_core.model.settings import ModelSettings
from agent_core.telemetry.emitter import Emitter, ListSink
from agent_core.telemetry.events import Event
from agent_core.transport.websocket import WebSocket

E = TypeVar("E", bound=Event)


class JumpingClock:
    """Real time plus jumps; a sleep is a jump, and is remembered."""

    def __init__(self) -> None:
        self.jumped_ns = 0
        self.slept_s: list[float] = []

    def wall_ns(self) -> int:
        return time.time_ns() + self.jumped_ns

    def mono_ns(self) -> int:
        return time.monotonic_ns() + self.jumped_ns

    async def sleep(self, delay_s: float) -> None:
        self.slept_s.append(delay_s)
        self.jump(delay_s)
        await asyncio.sleep(0)

    def jump(self, seconds: float) -> None:
        self.jumped_ns += int(seconds * 1e9)


class Talk:
    """A session with its history. `say` adds items, `call` runs a call and keeps its output."""

    def __init__(self, base_url: str, settings: dict[str, Any]) -> None:
        self.clock = JumpingClock()
        self.sink = ListSink()
        self.history = Items()
        self.options: dict[str, Any] = {}
        self.model, self.instructions, self.tools = "m", "Be brief.", b'[{"type":"function","name":"read"}]'
        self.seen: list[CallItem] = []
        """What the last call streamed."""
        self._calls = 0
        self.session = ModelSession(
            ModelSettings(**({"base_url": base_url, "api_key": "sk-test"} | settings)),
            clock=self.clock,
            emitter=Emitter(self.sink, self.clock, "test"),
            session_id="sess_1",
            jitter=lambda: 1.0,
        )

    def say(self, *items: dict[str, Any]) -> None:
        self.history.extend(json.dumps(item).encode() for item in items)

    def request(self) -> CallRequest:
        self._calls += 1
        return CallRequest(
            model=self.model,
            instructions=self.instructions,
            tools=self.tools,
            items=self.history,
            options=self.options,
            call=f"call_{self._calls}",
            turn="turn_1",
        )

    async def call(self, *items: dict[str, Any]) -> CallResult:
        """Add `items` and run a call to its end."""
        self.say(*items)
        self.seen = []
        async with asyncio.timeout(20), contextlib.aclosing(self.session.call(self.request())) as stream:
            async for item in stream:
                self.seen.append(item)
        result = self.seen[-1]
        assert isinstance(result, CallResult)
        self.history.extend(result.items)
        return result

    async def until_lost(self) -> None:
        """Wait until the session's idle socket is known to be gone."""
        await self.lost(self._idle_socket())

    async def lost(self, socket: WebSocket) -> None:
        async with asyncio.timeout(10):
            while socket.lost is None:  # noqa: ASYNC110 - an idle socket tells nobody
                await asyncio.sleep(0)

    async def until_lost_or_waiting(self) -> None:
        """Wait until the service said or did something to the idle socket."""
        socket = self._idle_socket()
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionLost):
                socket.put_back(await socket.receive())

    async def until_waiting(self) -> None:
        """Wait until a frame waits that no call asked for."""
        socket = self._idle_socket()
        async with asyncio.timeout(10):
            socket.put_back(await socket.receive())

    def _idle_socket(self) -> WebSocket:
        line = self.session._socket._line
        assert line is not None
        return line.socket

    def events(self, kind: type[E]) -> list[E]:
        return [event for event in self.sink.events if isinstance(event, kind)]

    def told(self, kind: type[E], field: str) -> list[Any]:
        """One field of every telemetry event of a kind, in order."""
        return [getattr(event, field) for event in self.events(kind)]


@asynccontextmanager
async def talking(base_url: str, **settings: Any) -> AsyncIterator[Talk]:
    """A talk whose session is closed at the end."""
    talk = Talk(base_url, settings)
    try:
        async with asyncio.timeout(60):
            yield talk
    finally:
        await talk.session.close()
