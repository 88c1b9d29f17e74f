"""The connections of one session: the one in use, the next while it is opened ahead, and those that lanes still hold.

Owns their lives (opened, aged, given up, closed) and tells each step as telemetry. A lane attaches to the line in use,
and leaves it when it can't trust it any more; a line that nobody holds is closed. Who may send what on a line is the
lane's business.
"""

from __future__ import annotations

import asyncio

from agent_core.clock import Clock, new_id
from agent_core.errors import AuthError, ServiceError, TransportError
from agent_core.model.settings import ModelSettings
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.transport.urls import websocket_url
from agent_core.transport.websocket import WebSocket


class Line:
    """One connection: socket, age and telemetry id. `holders` counts the lanes on it."""

    def __init__(self, socket: WebSocket, opened_ns: int, handshake_ms: float) -> None:
        self.socket, self.opened_ns, self.handshake_ms = socket, opened_ns, handshake_ms
        self.id = new_id("conn")
        self.holders = 0
        self.rotated = False
        self.soiled: set[str] = set()
        """Lane names with a response on them that nobody waits for any more; not to be used again on this line."""
        self.forks: dict[str, set[asyncio.Future[None]]] = {}
        """Continuations on other lanes that have not begun yet, by the response they continue: until then the lane of
        that response must not move on (OpenAI guide "WebSocket mode", forks with store=false)."""

    def stream_id(self, lane: str | None) -> str | None:
        """The name for `lane` on this line: its own, or with a number where that one is soiled."""
        if lane is None or lane not in self.soiled:
            return lane
        return next(name for n in range(2, 1000) if (name := f"{lane}.{n}") not in self.soiled)


class Connections:
    """Shared by the lanes of one session. `reached`: the service has answered a handshake."""

    def __init__(self, settings: ModelSettings, clock: Clock, emitter: Emitter, session: str | None) -> None:
        self._settings, self._clock, self._emitter, self._session = settings, clock, emitter, session
        self._url = websocket_url(settings.base_url)
        self._current: Line | None = None
        self._held: set[Line] = set()
        self._spare: asyncio.Task[Line] | None = None
        self._opening = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self.reached = False

    def due(self, line: Line, *, ahead: bool = False) -> bool:
        """Whether the line is old enough to be replaced, or (`ahead`) for the next one to be opened."""
        limit_s = self._settings.rotate_after_s - (self._settings.rotate_ahead_s if ahead else 0.0)
        return self._clock.mono_ns() - line.opened_ns >= limit_s * 1e9

    async def attach(self, cause: str | None) -> Line:
        """A line to use: the one in use if it is good and young, else a new one.

        `cause` says why the lane's last line is gone, None for its first. Raises a TransportError, AuthError or
        ServiceError where none can be had.
        """
        async with self._opening:
            line = self._current
            if line is None or line.socket.lost is not None or self.due(line):
                line = await self._successor(cause)
                self._current, self.reached = line, True
                if cause is not None and cause != "rotated":
                    self._tell_reconnected(line, cause)
        line.holders += 1
        self._held.add(line)
        return line

    def join(self, line: Line) -> None:
        """One more lane is on `line`, which is held already."""
        line.holders += 1

    async def renew(self, old: Line) -> Line:
        """A young line in place of `old`; `old` itself if none can be had now."""
        try:
            line = await self.attach("rotated")
        except (TransportError, ServiceError, AuthError):
            return old
        if not old.rotated:
            old.rotated = True
            age_s = self._age_s(old)
            self._emitter.emit(ev.ConnectionRotated(age_s=age_s, cause="age", session=self._session, connection=old.id))
        self.leave(old, "rotated")
        return line

    def leave(self, line: Line, cause: str) -> None:
        """A lane can't use `line` any more. Whoever else is on it may stay as long as it works."""
        line.holders -= 1
        if self._current is line:
            self._current = None
        if line.holders <= 0 or line.socket.lost is not None:
            self._end(line, cause)

    def let_go(self, line: Line) -> None:
        """A lane ends and leaves a line that works."""
        line.holders -= 1
        if line.holders <= 0 and line is not self._current:
            self._end(line, "session_closed")

    def open_ahead(self, line: Line) -> None:
        """Open the next connection in the background if `line` is about to be due."""
        if self._spare is None and line is self._current and self.due(line, ahead=True):
            self._spare = asyncio.create_task(self._open("ahead"), name="websocket-spare")

    async def close(self) -> None:
        """End everything; lanes must not send any more."""
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.cancel()
            await asyncio.wait([spare])
            if not spare.cancelled() and spare.exception() is None:
                self._discard(spare.result())
        self._current = None
        for line in tuple(self._held):
            self._end(line, "session_closed")
        if self._closing:
            await asyncio.wait(self._closing)

    async def _successor(self, cause: str | None) -> Line:
        """The connection that was opened ahead, if it is still good, else a new one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            line = await spare
            if line.socket.lost is None and not self.due(line):
                return line
            self._discard(line)
        return await self._open(cause)

    async def _open(self, cause: str | None) -> Line:
        """A new connection; `cause` says why, None for the session's first."""
        begun_ns = self._clock.mono_ns()
        socket = await WebSocket.open(
            self._url,
            self._settings.request_headers(),
            open_timeout_s=self._settings.open_timeout_s,
            ping_interval_s=self._settings.ping_interval_s,
            ping_timeout_s=self._settings.ping_timeout_s,
            max_frame_bytes=self._settings.max_frame_bytes,
        )
        now_ns = self._clock.mono_ns()
        line = Line(socket, now_ns, round((now_ns - begun_ns) / 1e6, 3))
        self._emitter.emit(
            ev.ConnectionOpened(handshake_ms=line.handshake_ms, cause=cause, session=self._session, connection=line.id)
        )
        return line

    def _end(self, line: Line, cause: str) -> None:
        """Close in the background what ended well; drop at once what did not."""
        if line not in self._held:
            return
        self._held.discard(line)
        self._tell_closed(line, cause)
        if cause in ("rotated", "session_closed"):
            task = asyncio.create_task(line.socket.close(), name="websocket-close")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        else:
            line.socket.abort()

    def _discard(self, line: Line) -> None:
        """End a connection that was never used."""
        line.socket.abort()
        self._tell_closed(line, "unused")

    def _age_s(self, line: Line) -> float:
        return round((self._clock.mono_ns() - line.opened_ns) / 1e9, 3)

    def _tell_reconnected(self, line: Line, cause: str) -> None:
        self._emitter.emit(
            ev.ConnectionReconnected(
                handshake_ms=line.handshake_ms, cause=cause, session=self._session, connection=line.id
            )
        )

    def _tell_closed(self, line: Line, cause: str) -> None:
        age_s = self._age_s(line)
        self._emitter.emit(ev.ConnectionClosed(age_s=age_s, cause=cause, session=self._session, connection=line.id))
