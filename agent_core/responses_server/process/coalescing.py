"""One socket write for all frames, or events of a stream, that are ready together.

What is written in the same turn of the event loop leaves in one write at its end; nothing waits longer than that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.extensions.base import Extension
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.frames import CloseCode, Frame
from websockets.typing import ExtensionParameter

from agent_core.peer_deadlines import StalledReader, TimedHttp
from agent_core.responses_server.settings import MAX_FRAME_BYTES

MAX_UNPACKED_BYTES = 2 * MAX_FRAME_BYTES
"""Of a compressed frame: some tenths of a second at most. What is a little too large is still told so."""
MAX_FRAGMENTS = 16_384
"""Of one message. Empty ones cost nothing on the way and memory here."""
MAX_HELD_BYTES = 64 * 1024
"""Above this the frames leave at once, so that the transport's flow control sees them."""


class CoalescingTransport:
    """Wraps a transport: `write` collects, everything else is passed on after what was collected."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._held_bytes = 0

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > MAX_HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._held:
            held, self._held, self._held_bytes = self._held, [], 0
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class BoundedDeflate(PerMessageDeflate):
    """Unpacks at most `MAX_UNPACKED_BYTES` of a frame, whatever may be received: unpacking holds up everybody."""

    def decode(self, frame: Frame, *, max_size: int | None = None) -> Frame:
        return super().decode(frame, max_size=min(max_size or MAX_UNPACKED_BYTES, MAX_UNPACKED_BYTES))


class BoundedDeflateFactory(ServerPerMessageDeflateFactory):
    def process_request_params(
        self, params: Sequence[ExtensionParameter], accepted_extensions: Sequence[Extension]
    ) -> tuple[list[ExtensionParameter], PerMessageDeflate]:
        answer, agreed = super().process_request_params(params, accepted_extensions)
        return answer, BoundedDeflate(
            agreed.remote_no_context_takeover,
            agreed.local_no_context_takeover,
            agreed.remote_max_window_bits,
            agreed.local_max_window_bits,
            agreed.compress_settings,
        )


class CoalescingHttp(TimedHttp):
    """uvicorn's HTTP protocol on a transport that coalesces; an upgrade takes the same transport over."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(_coalescing(transport, self.loop))


class CoalescingProtocol(StalledReader, WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol on a transport that coalesces, and that unpacks no more than it would serve."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.conn.available_extensions is not None:
            self.conn.available_extensions = [
                BoundedDeflateFactory() if isinstance(factory, ServerPerMessageDeflateFactory) else factory
                for factory in self.conn.available_extensions
            ]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(_coalescing(transport, self.loop))

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= MAX_FRAGMENTS:
            self.conn.fail(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
            self.handle_parser_exception()
            return
        super().handle_cont(event)


def _coalescing(transport: asyncio.BaseTransport, loop: asyncio.AbstractEventLoop) -> asyncio.Transport:
    wrapped = transport
    if not isinstance(transport, CoalescingTransport):
        wrapped = cast(asyncio.BaseTransport, CoalescingTransport(cast(asyncio.Transport, transport), loop))
    return cast(asyncio.Transport, wrapped)
