"""How long a peer may take: to send a request's head, its body, and to read what it is sent.

uvicorn bounds none of the three, so one byte a minute holds a connection for good. Shared by the Responses service and
the team hub; nothing else imports it, as it needs uvicorn.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 20.0
"""From the first byte of a request, or from the connection, to the end of its head."""
BODY_S = 30.0
LEAST_BYTES_PER_S = 16 * 1024
"""A body may take `BODY_S`, and longer as long as it comes at this rate on the whole."""
READ_S = 60.0
"""How long a peer may take nothing of what waits for it."""

LOOK_AGAIN_S = 1.0
"""After which a body that is late is looked at again, if it is us who do not read it."""

_TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class StalledReader:
    """For a protocol: drops the connection of a peer that reads nothing for `read_s`. Owns one timer."""

    read_s = READ_S
    loop: asyncio.AbstractEventLoop
    transport: Any
    _stalled: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()  # type: ignore[misc]
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.read_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._no_longer_stalled()
        super().resume_writing()  # type: ignore[misc]

    def connection_lost(self, exc: Exception | None) -> None:
        self._no_longer_stalled()
        super().connection_lost(exc)  # type: ignore[misc]

    def _no_longer_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


class TimedHttp(StalledReader, H11Protocol):
    """uvicorn's HTTP protocol with the three limits. A request that does not arrive is answered 408.

    `head_s`, `body_s`, `look_again_s`: as above. One timer at most; none is set for a request that comes in one piece.
    """

    head_s, body_s, look_again_s = HEAD_S, BODY_S, LOOK_AGAIN_S
    _late: asyncio.TimerHandle | None = None
    _began_s = 0.0
    _body_bytes = 0
    _upgraded = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._began_s = self.loop.time()
        self._arm(self.head_s)

    def data_received(self, data: bytes) -> None:
        waiting = self._late is not None
        super().data_received(data)
        if self._upgraded:
            return  # the connection is another protocol's; h11 still waits for the end of the upgrade's body
        match self.conn.their_state:
            case h11.SEND_BODY:
                if self._body_bytes == 0 or not waiting:
                    self._began_s = self.loop.time()
                    self._arm(self.body_s)
                self._body_bytes += len(data)
            case h11.IDLE if self.conn.trailing_data[0]:
                if not waiting or self._body_bytes:
                    self._began_s = self.loop.time()
                    self._arm(self.head_s)
                self._body_bytes = 0
            case _:
                self._arrived()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._upgraded = True
        self._arrived()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def _arm(self, delay_s: float) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(delay_s, self._look)

    def _arrived(self) -> None:
        self._body_bytes = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _look(self) -> None:
        """The time is up, unless enough of a body has come, or it is us who do not read it."""
        self._late = None
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.SEND_BODY:
            due_s = self._began_s + self.body_s + self._body_bytes / LEAST_BYTES_PER_S
            left_s = due_s - self.loop.time()
            if self.flow.read_paused or left_s > 0:
                self._arm(max(left_s, self.look_again_s))
                return
        cycle = self.cycle
        running = cycle is not None and not cycle.response_complete
        if running:
            cycle.disconnected = True
            cycle.message_event.set()
        if not running or not cycle.response_started:
            self.transport.write(_TIMED_OUT)
        self.transport.close()
