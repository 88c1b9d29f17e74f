"""The HTTP way: each request is a POST with the whole input, answered by an event stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from agent_core.errors import ConnectionLost, LooplineError
from agent_core.model.request import Fields, http_body
from agent_core.model.shared import Shared, Trip
from agent_core.protocol.chain import Plan
from agent_core.protocol.item_log import ItemLog
from agent_core.telemetry.events import TransportKind
from agent_core.transport.http import HttpStream


class HttpWay:
    """Owns the POST under way; the pool is the session's."""

    kind: TransportKind = "http"
    connection: str | None = None
    lane: str | None = None
    earlier_items: Collection[str] = ()  # an answer holds nothing but its own response

    def __init__(self, shared: Shared) -> None:
        self._settings, self._clock, self._shared = shared.settings, shared.clock, shared
        self._stream: HttpStream | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self.reached = False
        self._begun = False

    async def prepare(self) -> None:
        return

    def plan(self, fields: Fields, log: ItemLog) -> Plan:
        return Plan(None, log.start, "full_resend" if self._begun else "first")

    def encode(self, fields: Fields, plan: Plan, new: Sequence[bytes], *, warmup: bool) -> bytes:
        return http_body(fields, new)

    async def send(self, data: bytes, left: Callable[[int], None]) -> None:
        trip = Trip(self._clock, self._shared.tell_opened, left)
        try:
            self._stream = await self._shared.pool.post(data, trip, self._settings.silence_limit_s)
        finally:
            self._begun = self._begun or trip.has_left
        self.reached = True

    async def receive(self) -> list[bytes]:
        if self._stream is None:
            raise ConnectionLost("no request is under way")
        return await self._stream.receive(self._settings.silence_limit_s)

    def put_back(self, events: list[bytes]) -> None:
        return  # what follows a response in its own answer concerns nobody

    def claims(self, response_id: str | None) -> bool:
        return True

    def leave_behind(self, item_ids: Iterable[str]) -> None:
        return

    def running(self) -> None:
        return  # nobody continues a response over HTTP

    async def succeeded(self, response_id: str, fields: Fields, log: ItemLog, count: int, output: list[bytes]) -> None:
        await self._finish()

    async def failed(self, error: LooplineError, *, ended: bool, begun: bool) -> None:
        if ended:
            await self._finish()
        else:
            self.abandon()

    def abandon(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            task = asyncio.create_task(stream.close(), name="http-abandon")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        self.abandon()
        if self._closing:
            await asyncio.wait(self._closing, timeout=self._settings.cancel_timeout_s)

    async def _finish(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.finish()
