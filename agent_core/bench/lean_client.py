"""Clients as lean as Python allows, for HTTP and for WebSocket: what is measured with them is the way and the service.

Neither decodes what it does not need: of a stream of events only the terminal one is read, and the one that tells
timings. No queue lies between the socket and the reader.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from agent_core.bench.serving import KEY

C = TypeVar("C", bound="_Waiting")

TERMINAL: Final = (b"response.completed", b"response.done")
BROKEN: Final = (b"response.failed", b"response.incomplete", b"error")
TIMING: Final = b"responsesapi.websocket_timing"
TIMING_HEADER: Final = ("x-responsesapi-include-timing-metrics", "true")


class Item(msgspec.Struct):
    type: str = ""
    call_id: str = ""


class _Response(msgspec.Struct):
    id: str = ""
    output: list[Raw] = []


class _Terminal(msgspec.Struct):
    type: str = ""
    response: _Response = msgspec.field(default_factory=_Response)


class _Timing(msgspec.Struct):
    timing_metrics: dict[str, Any] = {}


_terminal = msgspec.json.Decoder(_Terminal).decode
_timing = msgspec.json.Decoder(_Timing).decode
_item = msgspec.json.Decoder(Item).decode


class Reply(msgspec.Struct):
    """One answer. `first_s`: from the request's write to its first event. `own_ms`: the service's own work, as it says;
    None if it did not. `paused`: `response.done`, more is to be appended."""

    id: str
    output: list[Raw]
    first_s: float
    own_ms: float | None
    paused: bool

    def calls(self) -> list[str]:
        """Call ids of the function calls in it."""
        items = [_item(raw) for raw in self.output]
        return [item.call_id for item in items if item.type == "function_call"]


class _Waiting(asyncio.Protocol):
    """What both have: one request at a time, and the reply to it."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._reply: asyncio.Future[Reply] | None = None
        self._sent_s = self._first_s = 0.0
        self._own_ms: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionError("the service closed the connection"))

    def begin(self) -> asyncio.Future[Reply]:
        self._reply = asyncio.get_running_loop().create_future()
        self._first_s, self._own_ms, self._sent_s = 0.0, None, time.perf_counter()
        return self._reply

    def event(self, kind: bytes, data: bytes) -> None:
        """An event of the reply; `data` is its JSON."""
        if not self._first_s:
            self._first_s = time.perf_counter() - self._sent_s
        if self._reply is None or self._reply.done():
            return
        if kind in TERMINAL:
            told = _terminal(data)
            paused = kind == b"response.done"
            self._reply.set_result(Reply(told.response.id, told.response.output, self._first_s, self._own_ms, paused))
        elif kind == TIMING:
            metrics = _timing(data).timing_metrics
            self._own_ms = metrics.get("responses_duration_excl_engine_and_client_tool_time_ms")
        elif kind in BROKEN:
            self._reply.set_exception(RuntimeError(f"a call of the benchmark failed: {data[:500].decode()}"))


class HttpConnection(_Waiting):
    """POSTs that are answered by an event stream, over one connection."""

    def __init__(self, port: int, *, keep: bool) -> None:
        super().__init__()
        self._buffer = bytearray()
        self._events = bytearray()
        self._in_body = False
        connection = "keep-alive" if keep else "close"
        self._head = (
            f"POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {KEY}\r\n"
            f"content-type: application/json\r\naccept: text/event-stream\r\nconnection: {connection}\r\n"
            f"{TIMING_HEADER[0]}: {TIMING_HEADER[1]}\r\n"
        )

    async def post(self, body: bytes) -> Reply:
        reply = self.begin()
        self.transport.writelines([f"{self._head}content-length: {len(body)}\r\n\r\n".encode(), body])
        return await reply

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._in_body:
            head, separator, rest = bytes(self._buffer).partition(b"\r\n\r\n")
            if not separator:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                if self._reply is not None and not self._reply.done():
                    self._reply.set_exception(RuntimeError(f"a call of the benchmark was refused: {rest[:500]!r}"))
                return
            self._in_body, self._buffer = True, bytearray(rest)
        self._chunks()

    def _chunks(self) -> None:
        """Take whole chunks out of the buffer, and whole events out of those."""
        buffer, start = self._buffer, 0
        while (line_end := buffer.find(b"\r\n", start)) >= 0:
            size = int(buffer[start:line_end], 16)
            end = line_end + 2 + size
            if len(buffer) < end + 2:
                break
            self._events += buffer[line_end + 2 : end]
            start = end + 2
            if size == 0:
                self._in_body = False
                break
        del buffer[:start]
        while (end := self._events.find(b"\n\n")) >= 0:
            name, _, data = bytes(self._events[:end]).partition(b"\n")
            del self._events[: end + 2]
            if name.startswith(b"event: "):
                self.event(name[7:], data[6:])


class SocketConnection(_Waiting):
    """Text frames over one WebSocket."""

    def __init__(self, port: int, *, rollout: bool = False) -> None:
        super().__init__()
        self._protocol = ClientProtocol(parse_uri(f"ws://127.0.0.1:{port}/v1/responses"), max_size=None)
        self._rollout = rollout
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        request = self._protocol.connect()
        request.headers["Authorization"] = f"Bearer {KEY}"
        request.headers[TIMING_HEADER[0]] = TIMING_HEADER[1]
        if self._rollout:
            request.headers["x-loopline-rollout"] = "1"
        self._protocol.send_request(request)
        self._flush()

    async def send(self, frame: bytes) -> Reply:
        reply = self.begin()
        self._protocol.send_text(frame)
        self._flush()
        return await reply

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                if event.opcode is Opcode.TEXT:
                    data = bytes(event.data)
                    self.event(data[9 : data.index(b'"', 9)], data)
            elif isinstance(event, Response):
                self._upgraded()
        self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(ConnectionError("the service did not upgrade"))
        super().connection_lost(error)

    def _upgraded(self) -> None:
        if self._protocol.handshake_exc is None:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(self._protocol.handshake_exc)

    def _flush(self) -> None:
        out = self._protocol.data_to_send()
        if out:
            self.transport.write(b"".join(out))


@asynccontextmanager
async def closing(connection: C) -> AsyncIterator[C]:
    """Close it at the end, whatever is still to come."""
    try:
        yield connection
    finally:
        connection.transport.abort()
        await asyncio.sleep(0)  # the transport's own last step


async def open_http(port: int, *, keep: bool) -> HttpConnection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: HttpConnection(port, keep=keep), "127.0.0.1", port)
    return connection


async def open_socket(port: int, *, rollout: bool = False) -> SocketConnection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: SocketConnection(port, rollout=rollout), "127.0.0.1", port)
    await connection.opened
    return connection
