"""The WebSocket shell: one socket to the service, whole text frames in and out.

Owns the socket and the frames that nobody took yet, in one inbox per lane. It decides nothing: what a frame means, and
what to do when the socket is gone, is decided above. Frames are taken over in the event loop's own callback, so reading
never stops while nobody waits (a close is seen before the next send, pings are answered), a burst wakes its consumer
once, and no task is needed. Headers are never logged: the library gets a logger that leads nowhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

import msgspec
import websockets.exceptions as ws_errors
from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import DATA_OPCODES, Frame
from websockets.protocol import Event

from agent_core.clock import utc_now
from agent_core.errors import (
    AuthError,
    ConfigError,
    ConnectionLost,
    HandshakeRefused,
    MessageTooLarge,
    Retry,
    ServiceError,
    ServiceUnreachable,
)
from agent_core.pauses import pause_s
from agent_core.transport.urls import is_loopback, unreachable

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024 - 1024
"""Largest frame we send. OpenAI closes with 1009 above 16 MiB; 16,777,000 bytes still pass
(lidge-jun/opencodex#2426)."""

MAX_INBOUND_BYTES: Final = 256 * 1024 * 1024
"""Largest message we take: far above any response, so that only a broken peer meets it."""

MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
"""Reading pauses while this much is not taken yet; TCP then slows the service down."""

PING_INTERVAL_S: Final = 20.0
PING_TIMEOUT_S: Final = 20.0
"""A peer that answers no ping for this long is dead, however long a response may be silent."""

CLOSE_TIMEOUT_S: Final = 1.0


class _Head(msgspec.Struct):
    stream_id: str | None = None


_read_head: Final = msgspec.json.Decoder(_Head).decode


class Inbox:
    """The frames of one lane that nobody took yet. One consumer at a time may `receive`."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self.frames: list[bytes] = []
        self.waiting_bytes = 0
        self.waiter: asyncio.Future[None] | None = None

    async def receive(self, silence_s: float | None = None) -> list[bytes]:
        """All frames that came since the last time, at least one; waits for it.

        Raises ConnectionLost once the socket is gone and all its frames were taken, or after `silence_s` seconds
        without a frame (None: waits as long as the peer answers pings).
        """
        if not self.frames:
            if self._connection.lost is None:
                await self._wait(silence_s)
            if not self.frames and self._connection.lost is not None:
                raise self._connection.lost
        return self.take()

    def take(self) -> list[bytes]:
        """The frames that came since the last time, maybe none. Never waits."""
        frames, self.frames = self.frames, []
        self._connection.taken(self.waiting_bytes)
        self.waiting_bytes = 0
        return frames

    def put_back(self, frames: list[bytes]) -> None:
        """Frames that were taken and belong to nobody yet: the next `receive` or `take` gives them first."""
        self.frames[:0] = frames

    def wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def _wait(self, silence_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        waiter = self.waiter = loop.create_future()
        timer = None if silence_s is None else loop.call_later(silence_s, _silent, waiter, silence_s)
        try:
            await waiter
        finally:
            self.waiter = None
            if timer is not None:
                timer.cancel()


class _Connection(ClientConnection):
    """The library's connection, with lists of whole messages in place of its queue of frames.

    The library hands every frame through a queue and a wake-up, which costs more than all that is done with a delta.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.inbox = Inbox(self)
        self.lanes: dict[str, Inbox] = {}
        self.waiting_bytes = 0
        self.lost: ConnectionLost | None = None
        self.held_up = False
        self._parts: list[bytes] = []

    def process_event(self, event: Event) -> None:
        if not isinstance(event, Frame) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
            return
        data = bytes(event.data)
        if not event.fin or self._parts:
            self._parts.append(data)
            if not event.fin:
                return
            data = b"".join(self._parts)
            self._parts.clear()
        inbox = self._inbox_of(data) if self.lanes else self.inbox
        if inbox is None:
            return
        inbox.frames.append(data)
        inbox.waiting_bytes += len(data)
        self.waiting_bytes += len(data)
        inbox.wake()
        if self.waiting_bytes > MAX_WAITING_BYTES and not self.held_up:
            self.held_up = True
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost = _closed(self.close_exc)
        for inbox in (self.inbox, *self.lanes.values()):
            inbox.wake()

    def taken(self, size: int) -> None:
        self.waiting_bytes -= size
        if self.held_up and self.waiting_bytes <= MAX_WAITING_BYTES:
            self.held_up = False
            self.transport.resume_reading()

    def _inbox_of(self, data: bytes) -> Inbox | None:
        """The inbox of the frame's lane; None if nobody has that lane (any more)."""
        if b'"stream_id"' not in data:
            return self.inbox
        try:
            lane = _read_head(data).stream_id
        except msgspec.DecodeError:
            return self.inbox
        return self.inbox if lane is None else self.lanes.get(lane)


class _Connect(connect):
    """Follows no redirect: headers and what is said go to the origin that they are for and nowhere else."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class WebSocket:
    """An open socket. `receive`, `take` and `put_back` are those of the default lane's inbox."""

    def __init__(self, socket: _Connection, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._socket = socket
        self._max_frame_bytes = max_frame_bytes

    @classmethod
    async def open(
        cls,
        url: str,
        headers: Mapping[str, str],
        *,
        open_timeout_s: float = 15.0,
        ping_interval_s: float = PING_INTERVAL_S,
        ping_timeout_s: float = PING_TIMEOUT_S,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> WebSocket:
        """Connect and upgrade. Raises ServiceUnreachable, AuthError (401, 403), HandshakeRefused (another status; 408
        where no answer came within `open_timeout_s`), ServiceError (429 and 503) or ConnectionLost."""
        try:
            socket = await _Connect(
                url,
                additional_headers=headers,
                user_agent_header=None,
                compression=None,
                proxy=None if is_loopback(url) else True,
                open_timeout=open_timeout_s,
                ping_interval=ping_interval_s,
                ping_timeout=ping_timeout_s,
                close_timeout=CLOSE_TIMEOUT_S,
                max_size=MAX_INBOUND_BYTES,
                write_limit=1024 * 1024,
                logger=_silent_logger(),
                create_connection=_Connection,
            )
        except ws_errors.InvalidStatus as refusal:
            raise _refused(refusal) from None
        except TimeoutError:
            raise HandshakeRefused(
                f"the service did not answer the WebSocket handshake within {open_timeout_s:g} s", status=408
            ) from None
        except ws_errors.InvalidProxyStatus as refusal:
            raise ServiceUnreachable(
                f"the proxy refused the way to the service (HTTP {refusal.response.status_code})",
                hint="check HTTPS_PROXY and NO_PROXY",
            ) from None
        except ImportError:
            raise ServiceUnreachable(
                "the way to the service leads through a SOCKS proxy, which needs the package python-socks",
                hint="install python-socks, or set NO_PROXY for the service",
            ) from None
        except ws_errors.InvalidProxy:
            raise ConfigError("the proxy's address", "HTTPS_PROXY", "a proxy URL like http://proxy:3128") from None
        except ws_errors.InvalidHandshake as broken:
            raise ConnectionLost(f"the WebSocket handshake broke off ({type(broken).__name__})") from None
        except (ConnectionResetError, ConnectionAbortedError, BrokenPipeError) as broken:
            raise ConnectionLost(f"the WebSocket handshake broke off ({type(broken).__name__})") from None
        except OSError as failure:
            raise unreachable(url, failure) from None
        assert isinstance(socket, _Connection)
        return cls(socket, max_frame_bytes=max_frame_bytes)

    @property
    def lost(self) -> ConnectionLost | None:
        """Why the socket is gone, None while it is open. Frames that came before may still wait to be taken."""
        return self._socket.lost

    async def send(self, data: bytes) -> None:
        """Write one text frame. Raises MessageTooLarge before anything is written, ConnectionLost if the socket is
        gone."""
        if len(data) > self._max_frame_bytes:
            raise MessageTooLarge(f"the request has {len(data)} bytes; a frame may have {self._max_frame_bytes}")
        if self._socket.lost is not None:
            raise self._socket.lost
        try:
            await self._socket.send(data, text=True)
        except ws_errors.ConnectionClosed as closed:
            raise _closed(closed) from None

    async def receive(self, silence_s: float | None = None) -> list[bytes]:
        return await self._socket.inbox.receive(silence_s)

    def take(self) -> list[bytes]:
        return self._socket.inbox.take()

    def put_back(self, frames: list[bytes]) -> None:
        self._socket.inbox.put_back(frames)

    def open_lane(self, lane: str | None) -> Inbox:
        """Where the frames of `lane` (None: the default one) come in from now on."""
        if lane is None:
            return self._socket.inbox
        return self._socket.lanes.setdefault(lane, Inbox(self._socket))

    def close_lane(self, lane: str | None) -> None:
        """Nobody has this lane any more: what still comes for it is dropped."""
        if lane is not None and (inbox := self._socket.lanes.pop(lane, None)) is not None:
            inbox.take()

    async def close(self) -> None:
        """Close with the closing handshake; takes at most about `CLOSE_TIMEOUT_S`."""
        try:
            await self._socket.close()
        finally:
            self.abort()

    def abort(self) -> None:
        """Drop the socket at once, without a closing handshake."""
        self._socket.transport.abort()


def _silent(waiter: asyncio.Future[None], silence_s: float) -> None:
    if not waiter.done():
        waiter.set_exception(ConnectionLost(f"the service sent nothing for {silence_s:g} s"))


def _closed(closed: ws_errors.ConnectionClosed) -> ConnectionLost:
    code = closed.rcvd.code if closed.rcvd is not None else None
    if code is None and closed.sent is not None and closed.sent.code != 1000:
        return ConnectionLost(f"the connection to the service died ({closed.sent.reason or closed.sent.code})")
    said = f" with code {code}" if code is not None else " without a word"
    return ConnectionLost(f"the service closed the connection{said}", close_code=code)


def _refused(refusal: ws_errors.InvalidStatus) -> AuthError | HandshakeRefused | ServiceError:
    status = refusal.response.status_code
    if status in (401, 403):
        return AuthError(f"the service refused the key (HTTP {status})", hint="check OPENAI_API_KEY")
    if status in (429, 503):
        return ServiceError(
            f"the service refused a connection for now (HTTP {status})",
            code="rate_limit_exceeded" if status == 429 else "server_is_overloaded",
            status=status,
            retry=Retry.BACKOFF,
            retry_after_s=pause_s(
                {name.lower(): value for name, value in refusal.response.headers.raw_items()}, utc_now(), status=status
            ),
        )
    return HandshakeRefused(f"the service refused the WebSocket (HTTP {status})", status=status)


def _silent_logger() -> logging.Logger:
    return logging.Logger("websockets", level=logging.CRITICAL + 1)
