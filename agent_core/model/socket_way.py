"""The WebSocket way: one connection with its chain, kept open from call to call.

Owns the connection's life (open, found dead, rotated, drained after a cancel, closed) and tells each step as
telemetry. `protocol.client_connection` says what is possible when, `protocol.chain` what can be continued.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from agent_core.clock import Clock, new_id
from agent_core.errors import (
    AuthError,
    ConnectionLost,
    LooplineError,
    MessageTooLarge,
    ServiceError,
    TransportError,
    WireError,
)
from agent_core.model.policy import CONNECTION_LIMIT, NOT_FOUND
from agent_core.model.request import Fields, socket_frame
from agent_core.model.settings import ModelSettings
from agent_core.protocol.chain import Chain, Plan
from agent_core.protocol.client_connection import ClientConnection, Effect, Input, State
from agent_core.protocol.item_log import ItemLog
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.transport.urls import websocket_url
from agent_core.transport.websocket import WebSocket
from agent_core.wire import events as wire

CANCEL_FRAME = b'{"type":"response.cancel"}'


class Line:
    """One connection: socket, state and telemetry id."""

    def __init__(self, socket: WebSocket, state: ClientConnection, handshake_ms: float) -> None:
        self.socket, self.state, self.handshake_ms = socket, state, handshake_ms
        self.id = new_id("conn")


class SocketWay:
    """One session's connection, and the next one while it is opened ahead."""

    kind: ev.TransportKind = "websocket"

    def __init__(self, settings: ModelSettings, clock: Clock, emitter: Emitter, session: str | None) -> None:
        self._settings, self._clock, self._emitter, self._session = settings, clock, emitter, session
        self._url = websocket_url(settings.base_url)
        self._chain = Chain()
        self._line: Line | None = None
        self._spare: asyncio.Task[Line] | None = None
        self._drain: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._gone: str | None = None
        self.reached = False

    @property
    def connection(self) -> str | None:
        return None if self._line is None else self._line.id

    async def prepare(self) -> None:
        if self._drain is not None:
            await asyncio.wait([self._drain])
            self._drain = None
        self._look()
        if self._line is None:
            self._adopt(await self._successor(self._gone), self._gone)
        elif self._due(self._line, self._settings.rotate_after_s):
            await self._rotate(self._line)

    def plan(self, fields: Fields, log: ItemLog) -> Plan:
        return self._chain.plan(fields.digest, log)

    def encode(self, fields: Fields, plan: Plan, new: Sequence[bytes], *, warmup: bool) -> bytes:
        return socket_frame(fields, plan.previous_response_id, new, generate=not warmup)

    async def send(self, data: bytes, left: Callable[[int], None]) -> None:
        line, sent_ns = self._current(), self._clock.mono_ns()
        if len(data) > self._settings.max_frame_bytes:
            raise MessageTooLarge(
                f"the request has {len(data)} bytes; a frame may have {self._settings.max_frame_bytes}"
            )
        line.state.feed(Input.SEND)
        self._chain.sent()
        await line.socket.send(data)
        left(sent_ns)

    async def receive(self) -> list[bytes]:
        return await self._current().socket.receive(self._settings.silence_limit_s)

    def put_back(self, events: list[bytes]) -> None:
        self._current().socket.put_back(events)

    def claims(self, response_id: str | None) -> bool:
        return self._line is not None and self._line.state.claims(response_id)

    async def succeeded(self, response_id: str, fields: Fields, log: ItemLog, count: int, output: list[bytes]) -> None:
        line = self._current()
        line.state.feed(Input.ENDED)
        if response_id:
            self._chain.advance(response_id, fields.digest, log.digest(count), count, output)
        else:
            self._chain.broken()
        if self._spare is None and self._due(line, self._settings.rotate_after_s - self._settings.rotate_ahead_s):
            self._spare = asyncio.create_task(self._open("ahead"), name="websocket-spare")

    async def failed(self, error: LooplineError, *, ended: bool, begun: bool) -> None:
        line = self._line
        if line is None:
            self._gone = (self._gone or error.code) if self.reached else None
            return
        if isinstance(error, MessageTooLarge):
            return
        code = error.code if isinstance(error, ServiceError) else ""
        if ended and code != CONNECTION_LIMIT:
            line.state.feed(Input.ENDED)
            if code == NOT_FOUND:
                self._chain.not_found()
            elif begun:
                self._chain.broken()
            else:
                self._chain.refused()
            return
        self._drop(line, error.code)

    def abandon(self) -> None:
        line = self._line
        if line is None or line.state.state is not State.IN_FLIGHT:
            return
        if line.state.feed(Input.CANCEL) is Effect.STOP:
            self._chain.broken()
            self._drain = asyncio.create_task(self._run_dry(line), name="websocket-drain")

    async def close(self) -> None:
        drain, self._drain = self._drain, None
        spare, self._spare = self._spare, None
        for task in (drain, spare):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if spare is not None and not spare.cancelled() and spare.exception() is None:
            self._discard(spare.result())
        line, self._line = self._line, None
        if line is not None:
            line.state.feed(Input.CLOSE)
            await line.socket.close()
            self._tell_closed(line, "session_closed")
        if self._closing:
            await asyncio.wait(self._closing)

    def _current(self) -> Line:
        if self._line is None:
            raise ConnectionLost("the connection is closed")
        return self._line

    def _due(self, line: Line, age_s: float) -> bool:
        return line.state.age_ns(self._clock.mono_ns()) >= age_s * 1e9

    def _look(self) -> None:
        """See what became of the connection while nobody used it."""
        line = self._line
        if line is None:
            return
        if line.state.state is not State.READY:
            self._drop(line, self._gone or "connection_lost")
        elif any(_says_limit(frame) for frame in line.socket.take()):
            self._drop(line, CONNECTION_LIMIT)
        elif line.socket.lost is not None:
            self._drop(line, line.socket.lost.code)

    async def _open(self, cause: str | None) -> Line:
        """A new connection; `cause` says why, None for the session's first."""
        state = ClientConnection()
        state.feed(Input.CONNECT)
        begun_ns = self._clock.mono_ns()
        headers = self._settings.request_headers()
        socket = await WebSocket.open(
            self._url,
            headers,
            open_timeout_s=self._settings.open_timeout_s,
            ping_interval_s=self._settings.ping_interval_s,
            ping_timeout_s=self._settings.ping_timeout_s,
            max_frame_bytes=self._settings.max_frame_bytes,
        )
        now_ns = self._clock.mono_ns()
        state.opened(now_ns)
        line = Line(socket, state, round((now_ns - begun_ns) / 1e6, 3))
        self._emitter.emit(
            ev.ConnectionOpened(handshake_ms=line.handshake_ms, cause=cause, session=self._session, connection=line.id)
        )
        return line

    async def _successor(self, cause: str | None) -> Line:
        """The connection that was opened ahead, if it is still good, else a new one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            line = await spare
            if line.socket.lost is None and not self._due(line, self._settings.rotate_after_s):
                return line
            self._discard(line)
        return await self._open(cause)

    def _discard(self, line: Line) -> None:
        """End a connection that was never used."""
        line.state.feed(Input.CLOSE)
        line.socket.abort()
        self._tell_closed(line, "unused")

    def _adopt(self, line: Line, cause: str | None) -> None:
        """Make `line` the one in use. `cause`: why the one before it is gone, None for the first."""
        self._line, self.reached, self._gone = line, True, None
        if cause is not None and cause != "rotated":
            self._emitter.emit(
                ev.ConnectionReconnected(
                    handshake_ms=line.handshake_ms, cause=cause, session=self._session, connection=line.id
                )
            )

    async def _rotate(self, old: Line) -> None:
        """Change over to a young connection; if none can be had now, the old one serves on."""
        try:
            line = await self._successor("rotated")
        except (TransportError, ServiceError, AuthError):
            return
        age_s = round(old.state.age_ns(self._clock.mono_ns()) / 1e9, 3)
        self._chain.lost("rotated")
        self._emitter.emit(ev.ConnectionRotated(age_s=age_s, cause="age", session=self._session, connection=old.id))
        old.state.feed(Input.CLOSE)
        self._tell_closed(old, "rotated")
        self._close_soon(old.socket)
        self._adopt(line, "rotated")

    def _drop(self, line: Line, cause: str) -> None:
        line.state.feed(Input.CLOSE)
        line.socket.abort()
        self._chain.lost("reconnected")
        self._tell_closed(line, cause)
        if self._line is line:
            self._line, self._gone = None, cause

    async def _run_dry(self, line: Line) -> None:
        """After a cancel: bring the service to the response's end within a bound, or close the connection."""
        own = self._settings.own_service
        try:
            async with asyncio.timeout(self._settings.cancel_timeout_s if own else self._settings.drain_timeout_s):
                if own:
                    await line.socket.send(CANCEL_FRAME)
                while line.state.state is State.DRAINING:
                    for frame in await line.socket.receive():
                        self._drained(line, wire.read_event(frame), asked=own)
        except TimeoutError:
            line.state.feed(Input.OVERDUE)
        except TransportError:
            line.state.feed(Input.LOST)
        except WireError:
            line.state.feed(Input.MIXED_UP)
        if line.state.state is State.CLOSED:
            self._drop(line, "cancelled")

    def _drained(self, line: Line, event: wire.ServerEvent, *, asked: bool) -> None:
        state = line.state
        if state.state is not State.DRAINING:
            return
        if isinstance(event, wire.ErrorEvent):
            # It may answer the request or, if there was one, the asking to stop.
            state.feed(Input.MIXED_UP if asked else Input.ENDED)
        elif hasattr(event, "response") and state.claims(event.response.id or None):
            if wire.event_type(event) not in wire.TERMINAL_TYPES:
                return
            # A response that ended by itself while we asked to end it: an answer to the asking may still come.
            crossed = asked and event.response.status != "cancelled"
            state.feed(Input.MIXED_UP if crossed else Input.ENDED)

    def _tell_closed(self, line: Line, cause: str) -> None:
        age_s = round(line.state.age_ns(self._clock.mono_ns()) / 1e9, 3)
        self._emitter.emit(ev.ConnectionClosed(age_s=age_s, cause=cause, session=self._session, connection=line.id))

    def _close_soon(self, socket: WebSocket) -> None:
        task = asyncio.create_task(socket.close(), name="websocket-close")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _says_limit(frame: bytes) -> bool:
    try:
        event = wire.read_event(frame)
    except WireError:
        return False
    return isinstance(event, wire.ErrorEvent) and event.error.code == CONNECTION_LIMIT
