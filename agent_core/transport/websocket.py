"""The WebSocket shell: one socket to the service, whole text frames in and out.

Owns the socket, its one reader task and the frames that nobody took yet. It decides nothing: what a frame means, and
what to do when the socket is gone, is decided above. The reader always reads, so a close is seen before the next send
and pongs are answered while nobody waits. Headers are never logged: the library gets a logger that leads nowhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from typing import Final

import websockets.exceptions as ws_errors
from websockets.asyncio.client import ClientConnection, connect

from agent_core.errors import (
    AuthError,
    ConnectionLost,
    HandshakeRefused,
    MessageTooLarge,
    Retry,
    ServiceError,
    ServiceUnreachable,
)
from agent_core.transport.urls import is_loopback, unreachable
from agent_core.wire.errors import retry_after_s

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024 - 1024
"""Largest frame we send. OpenAI closes with 1009 above 16 MiB; 16,777,000 bytes still pass
(lidge-jun/opencodex#2426)."""

MAX_INBOUND_BYTES: Final = 256 * 1024 * 1024
"""Largest message we take: far above any response, so that only a broken peer meets it."""

MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
"""The reader pauses while this much is not taken yet; TCP then slows the service down."""

PING_INTERVAL_S: Final = 20.0
PING_TIMEOUT_S: Final = 20.0
"""A peer that answers no ping for this long is dead, however long a response may be silent."""

CLOSE_TIMEOUT_S: Final = 1.0


class WebSocket:
    """An open socket. One consumer at a time may `receive`."""

    def __init__(self, socket: ClientConnection, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._socket = socket
        self._max_frame_bytes = max_frame_bytes
        self._frames: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._wakeup: asyncio.Future[None] | None = None
        self._space = asyncio.Event()
        self._lost: ConnectionLost | None = None
        self._reader = asyncio.create_task(self._read(), name="websocket-reader")

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
            socket = await connect(
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
                max_queue=(1024, 256),
                write_limit=1024 * 1024,
                logger=_silent_logger(),
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
        except ws_errors.InvalidHandshake as broken:
            raise ConnectionLost(f"the WebSocket handshake broke off ({type(broken).__name__})") from None
        except OSError as failure:
            raise unreachable(url, failure) from None
        return cls(socket, max_frame_bytes=max_frame_bytes)

    @property
    def lost(self) -> ConnectionLost | None:
        """Why the socket is gone, None while it is open. Frames that came before may still wait to be taken."""
        return self._lost

    async def send(self, data: bytes) -> None:
        """Write one text frame. Raises MessageTooLarge before anything is written, ConnectionLost if the socket is
        gone."""
        if len(data) > self._max_frame_bytes:
            raise MessageTooLarge(f"the request has {len(data)} bytes; a frame may have {self._max_frame_bytes}")
        if self._lost is not None:
            raise self._lost
        try:
            await self._socket.send(data, text=True)
        except ws_errors.ConnectionClosed as closed:
            raise _closed(closed) from None

    async def receive(self, silence_s: float | None = None) -> list[bytes]:
        """All frames that came since the last time, at least one; waits for it.

        Raises ConnectionLost once the socket is gone and all its frames were taken, or after `silence_s` seconds
        without a frame (None: waits as long as the peer answers pings).
        """
        if not self._frames:
            if self._lost is not None:
                raise self._lost
            await self._wait(silence_s)
        return self.take()

    def take(self) -> list[bytes]:
        """The frames that came since the last time, maybe none. Never waits."""
        frames = list(self._frames)
        self._frames.clear()
        self._waiting_bytes = 0
        self._space.set()
        return frames

    def put_back(self, frames: list[bytes]) -> None:
        """Frames that were taken and belong to nobody yet: the next `receive` or `take` gives them first."""
        self._frames.extendleft(reversed(frames))

    async def close(self) -> None:
        """Close with the closing handshake; takes at most about `CLOSE_TIMEOUT_S`."""
        try:
            await self._socket.close()
        finally:
            self.abort()
            await asyncio.wait([self._reader], timeout=CLOSE_TIMEOUT_S)

    def abort(self) -> None:
        """Drop the socket at once, without a closing handshake."""
        self._socket.transport.abort()

    async def _wait(self, silence_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._wakeup = loop.create_future()
        timer = None if silence_s is None else loop.call_later(silence_s, self._silent, silence_s)
        try:
            await self._wakeup
        finally:
            self._wakeup = None
            if timer is not None:
                timer.cancel()
        if not self._frames and self._lost is not None:
            raise self._lost

    def _silent(self, silence_s: float) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_exception(ConnectionLost(f"the service sent nothing for {silence_s:g} s"))

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    async def _read(self) -> None:
        receive, frames = self._socket.recv, self._frames
        try:
            while True:
                frame = await receive(decode=False)
                frames.append(frame)
                self._waiting_bytes += len(frame)
                self._wake()
                if self._waiting_bytes > MAX_WAITING_BYTES:
                    self._space.clear()
                    await self._space.wait()
        except ws_errors.ConnectionClosed as closed:
            self._lost = _closed(closed)
        except asyncio.CancelledError:
            self._lost = ConnectionLost("the socket was closed by this side")
            raise
        finally:
            self._wake()


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
            retry_after_s=retry_after_s({"retry-after": refusal.response.headers.get("Retry-After", "")}),
        )
    return HandshakeRefused(f"the service refused the WebSocket (HTTP {status})", status=status)


def _silent_logger() -> logging.Logger:
    return logging.Logger("websockets", level=logging.CRITICAL + 1)
