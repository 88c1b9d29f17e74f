"""The WebSocket way of one lane: its chain, and the connection it is on from call to call.

Owns what the lane believes and what runs on it; `connections` owns the sockets. `protocol.client_connection` says what
is possible when, `protocol.chain` what can be continued. The default lane has no name; a named one is a `stream_id`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from agent_core.clock import Clock
from agent_core.errors import (
    ConnectionLost,
    LooplineError,
    MessageTooLarge,
    ServiceError,
    TransportError,
    WireError,
)
from agent_core.model.connections import Connections, Line
from agent_core.model.policy import CONNECTION_LIMIT, LANE_REFUSALS, NOT_FOUND
from agent_core.model.request import Fields, cancel_frame, socket_frame
from agent_core.model.settings import ModelSettings
from agent_core.protocol.chain import Chain, Plan
from agent_core.protocol.client_connection import ClientConnection, Effect, Input, State
from agent_core.protocol.item_log import ItemLog
from agent_core.telemetry.events import TransportKind
from agent_core.transport.websocket import Inbox
from agent_core.wire import events as wire

FORK_WAIT_S = 10.0
"""How long a lane waits for continuations of its response on other lanes to begin; then they find it gone and are sent
in full."""


class SocketWay:
    """One lane. `own` are connections that nobody shares, for a lane that the service refuses."""

    kind: TransportKind = "websocket"

    def __init__(
        self,
        settings: ModelSettings,
        clock: Clock,
        connections: Connections,
        lane: str | None = None,
        own: Connections | None = None,
    ) -> None:
        self._settings, self._clock, self._connections = settings, clock, connections
        self.lane, self._own = lane, own
        self._stream_id = lane
        self._chain = Chain()
        self._line: Line | None = None
        self._inbox: Inbox | None = None
        self._state = ClientConnection()
        self._drain: asyncio.Task[None] | None = None
        self._gone: str | None = None
        self._fork: asyncio.Future[None] | None = None

    @property
    def connection(self) -> str | None:
        return None if self._line is None else self._line.id

    @property
    def reached(self) -> bool:
        return self._connections.reached

    def fork(self, source: SocketWay) -> None:
        """Begin where `source` is: the first call may continue its response, if it goes over the same connection."""
        if source._line is not None and source._connections is self._connections:
            self._chain = source._chain.copy()
            self._connections.join(source._line)
            self._enter(source._line)

    async def prepare(self) -> None:
        if self._drain is not None:
            await asyncio.wait([self._drain])
            self._drain = None
        self._look()
        if self._line is None:
            self._enter(await self._connections.attach(self._gone))
            self._gone = None
        elif self._connections.due(self._line):
            await self._renew(self._line)
        if not self._chain.forked and (forks := self._current().forks.get(self._chain.response_id or "")):
            await asyncio.wait(forks, timeout=FORK_WAIT_S)

    def plan(self, fields: Fields, log: ItemLog) -> Plan:
        return self._chain.plan(fields.digest, log)

    def encode(self, fields: Fields, plan: Plan, new: Sequence[bytes], *, warmup: bool) -> bytes:
        return socket_frame(fields, plan.previous_response_id, new, generate=not warmup, lane=self._stream_id)

    async def send(self, data: bytes, left: Callable[[int], None]) -> None:
        line, sent_ns = self._current(), self._clock.mono_ns()
        if len(data) > self._settings.max_frame_bytes:
            raise MessageTooLarge(
                f"the request has {len(data)} bytes; a frame may have {self._settings.max_frame_bytes}"
            )
        self._state.feed(Input.SEND)
        self._announce_fork(line)
        self._chain.sent()
        await line.socket.send(data)
        left(sent_ns)

    async def receive(self) -> list[bytes]:
        if self._inbox is None:
            raise ConnectionLost("the connection is closed")
        return await self._inbox.receive(self._settings.silence_limit_s)

    def put_back(self, events: list[bytes]) -> None:
        if self._inbox is not None:
            self._inbox.put_back(events)

    def claims(self, response_id: str | None) -> bool:
        return self._line is not None and self._state.claims(response_id)

    @property
    def earlier_items(self) -> Collection[str]:
        return self._state.earlier_items

    def leave_behind(self, item_ids: Iterable[str]) -> None:
        self._state.leave_behind(item_ids)

    def running(self) -> None:
        self._fork_begun()

    async def succeeded(self, response_id: str, fields: Fields, log: ItemLog, count: int, output: list[bytes]) -> None:
        line = self._current()
        self._fork_begun()
        self._state.feed(Input.ENDED)
        if response_id:
            self._chain.advance(response_id, fields.digest, log.digest(count), count, output)
        else:
            self._chain.broken()
        self._connections.open_ahead(line)

    async def failed(self, error: LooplineError, *, ended: bool, begun: bool) -> None:
        self._fork_begun()
        if self._line is None:
            self._gone = (self._gone or error.code) if self.reached else None
            return
        if isinstance(error, MessageTooLarge):
            return
        code = error.code if isinstance(error, ServiceError) else ""
        if ended and code in LANE_REFUSALS and self.lane is not None and self._own is not None:
            self._move_out(self._own)
        elif ended and code != CONNECTION_LIMIT:
            self._state.feed(Input.ENDED)
            if code == NOT_FOUND:
                self._chain.not_found()
            elif begun:
                self._chain.broken()
            else:
                self._chain.refused()
        else:
            self._drop(error.code)

    def abandon(self) -> None:
        if self._line is None or self._state.state is not State.IN_FLIGHT:
            return
        self._fork_begun()
        if self._state.feed(Input.CANCEL) is Effect.STOP:
            self._chain.broken()
            self._drain = asyncio.create_task(self._run_dry(self._line), name="websocket-drain")

    async def close(self) -> None:
        drain, self._drain = self._drain, None
        if drain is not None:
            drain.cancel()
            await asyncio.wait([drain])
        if (line := self._line) is not None:
            self._exit()
            self._connections.let_go(line)
        if self._own is not None:
            await self._own.close()

    def _current(self) -> Line:
        if self._line is None:
            raise ConnectionLost("the connection is closed")
        return self._line

    def _look(self) -> None:
        """See what became of the connection while nobody used it."""
        if self._line is None or self._inbox is None:
            return
        if self._state.state is not State.READY:
            self._drop(self._gone or "connection_lost")
        elif any(_says_limit(frame) for frame in self._inbox.take()):
            self._drop(CONNECTION_LIMIT)
        elif self._line.socket.lost is not None:
            self._drop(self._line.socket.lost.code)

    def _enter(self, line: Line) -> None:
        self._stream_id = line.stream_id(self.lane)
        self._line, self._inbox, self._state = line, line.socket.open_lane(self._stream_id), ClientConnection()
        self._state.feed(Input.CONNECT)
        self._state.opened(line.opened_ns)

    def _exit(self) -> None:
        if self._line is not None:
            if self._state.state is not State.READY and self._stream_id is not None:
                self._line.soiled.add(self._stream_id)
            self._state.feed(Input.CLOSE)
            self._line.socket.close_lane(self._stream_id)
        self._line = self._inbox = None

    async def _renew(self, old: Line) -> None:
        """Change over to a young connection; if none can be had now, the old one serves on."""
        line = await self._connections.renew(old)
        if line is not old:
            self._exit()
            self._chain.lost("rotated")
            self._enter(line)

    def _drop(self, cause: str) -> None:
        line = self._current()
        self._exit()
        if self.lane is not None and line.socket.lost is None and cause != CONNECTION_LIMIT:
            # The line is as good as before for everybody else, and for this lane under another name.
            self._chain.broken()
            self._connections.let_go(line)
            return
        self._chain.lost("reconnected")
        self._gone = cause
        self._connections.leave(line, cause)

    def _move_out(self, own: Connections) -> None:
        """The service grants no (further) lane: go on as the default lane of a connection of our own."""
        line = self._current()
        self._exit()
        self._connections.let_go(line)
        self._connections, self.lane = own, None
        self._chain.lost("reconnected")

    def _announce_fork(self, line: Line) -> None:
        """Let the lane whose response this lane continues wait until that has begun."""
        if self._chain.forked and self._chain.response_id:
            self._fork = asyncio.get_running_loop().create_future()
            line.forks.setdefault(self._chain.response_id, set()).add(self._fork)

    def _fork_begun(self) -> None:
        fork, self._fork = self._fork, None
        if fork is None:
            return
        fork.set_result(None)
        for waiting in self._line.forks.values() if self._line is not None else ():
            waiting.discard(fork)

    async def _run_dry(self, line: Line) -> None:
        """After a cancel: bring the service to the response's end within a bound, or leave the connection."""
        own, state, inbox = self._settings.own_service, self._state, line.socket.open_lane(self._stream_id)
        try:
            async with asyncio.timeout(self._settings.cancel_timeout_s if own else self._settings.drain_timeout_s):
                if own:
                    await line.socket.send(cancel_frame(self._stream_id))
                while state.state is State.DRAINING:
                    for frame in await inbox.receive():
                        self._drained(state, wire.read_event(frame), asked=own)
        except TimeoutError:
            state.feed(Input.OVERDUE)
        except TransportError:
            state.feed(Input.LOST)
        except WireError:
            state.feed(Input.MIXED_UP)
        if state.state is State.CLOSED and self._line is line:
            self._drop("cancelled")

    def _drained(self, state: ClientConnection, event: wire.ServerEvent, *, asked: bool) -> None:
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


def _says_limit(frame: bytes) -> bool:
    try:
        event = wire.read_event(frame)
    except WireError:
        return False
    return isinstance(event, wire.ErrorEvent) and event.error.code == CONNECTION_LIMIT
