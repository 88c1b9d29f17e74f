"""A scripted, capturing Responses service on a real loopback socket, for tests of the client's way to the model.

A script per WebSocket connection and one per POST, taken in the order in which they come. Every handshake, frame and
body is kept. On every create the service checks what no client may do: an output for a call that is not in the
conversation, or two outputs for one call. Broken invariants and scripts that were not used fail the test when the
service stops.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from tests.support.model.scripted_service_rules import Conversation, line_of

Json = dict[str, Any]

WAIT_S = 10.0


class Gone(Exception):
    """The client left while a script waited for it."""


@dataclass
class Create:
    """One `response.create` or POST body as it came."""

    body: Json
    size: int
    connection: int

    @property
    def input(self) -> list[Json]:
        return list(self.body["input"])

    @property
    def previous(self) -> str | None:
        return self.body.get("previous_response_id")


class Peer:
    """The service's end of one WebSocket, in the hands of a script."""

    def __init__(
        self,
        service: ScriptedService,
        number: int,
        protocol: ServerProtocol,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.number = number
        self.creates: list[Create] = []
        self.deaf = False
        """While true nothing is read or answered, pings neither."""
        self._service, self._protocol, self._reader, self._writer = service, protocol, reader, writer
        self._frames: asyncio.Queue[Json | None] = asyncio.Queue()
        self._conversation = Conversation(service.violations)
        self._pong = asyncio.Event()
        self.gone = asyncio.Event()

    async def next(self, kind: str = "response.create") -> Json:
        """The client's next frame, which must be of `kind`. Raises Gone if the client leaves instead."""
        async with asyncio.timeout(WAIT_S):
            frame = await self._frames.get()
        if frame is None:
            raise Gone
        assert frame["type"] == kind, f"expected {kind}, got {frame['type']}"
        return frame

    async def answer(self, *replies: Iterable[Json]) -> None:
        """Answer the next creates, one reply (a list of events) each."""
        for reply in replies:
            await self.next()
            await self.send(*reply)

    async def send(self, *events: Json) -> None:
        for event in events:
            self._conversation.event(event)
            self._protocol.send_text(json.dumps(event).encode())
        await self.flush()

    async def send_text(self, text: str) -> None:
        await self.send_bytes(text.encode())

    async def send_bytes(self, data: bytes) -> None:
        """A text message with these bytes, whether or not they are UTF-8."""
        self._protocol.send_text(data)
        await self.flush()

    async def send_in_pieces(self, event: Json, pieces: int) -> None:
        """One message in several frames, with a ping between them."""
        data = json.dumps(event).encode()
        size = -(-len(data) // pieces)
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        self._protocol.send_text(parts[0], fin=False)
        for part in parts[1:-1]:
            self._protocol.send_continuation(part, fin=False)
            self._protocol.send_ping(b"")
        self._protocol.send_continuation(parts[-1], fin=True)
        await self.flush()

    async def send_half(self, event: Json) -> None:
        """The first half of a frame; the rest never comes."""
        frame = Frame(Opcode.TEXT, json.dumps(event).encode()).serialize(mask=False)
        self._writer.write(frame[: len(frame) // 2])
        await self._writer.drain()

    async def settle(self) -> None:
        """Wait until the client has what was sent: it answers a ping behind it."""
        self._pong.clear()
        self._protocol.send_ping(b"?")
        await self.flush()
        async with asyncio.timeout(WAIT_S):
            await self._pong.wait()

    async def close(self, code: int = 1000) -> None:
        self._protocol.send_close(code)
        await self.flush()
        await self.left()

    async def drop(self) -> None:
        """End the TCP stream without a closing handshake."""
        self._writer.close()
        await self.left()

    async def reset(self) -> None:
        """End it with a TCP reset."""
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        await self.left()

    async def left(self) -> None:
        """Wait until the client is gone."""
        async with asyncio.timeout(WAIT_S):
            await self.gone.wait()

    async def flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)
            elif self._writer.can_write_eof():
                self._writer.write_eof()
        await self._writer.drain()

    async def read(self) -> None:
        """Feed what the client sends into the queue until it leaves."""
        message = b""
        try:
            while data := await self._reader.read(1 << 20):
                if self.deaf:
                    continue
                self._protocol.receive_data(data)
                for event in self._protocol.events_received():
                    if isinstance(event, Frame) and event.opcode is Opcode.PONG:
                        self._pong.set()
                    if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.CONT):
                        message += bytes(event.data)
                        if event.fin:
                            self._take(message)
                            message = b""
                await self.flush()
                if self._protocol.state is State.CLOSED or self._protocol.close_expected():
                    break
        except ConnectionError:
            pass
        finally:
            self._frames.put_nowait(None)
            self.gone.set()
            self._writer.close()

    def _take(self, message: bytes) -> None:
        frame = json.loads(message)
        if frame["type"] == "response.create":
            create = Create(frame, len(message), self.number)
            self._service.trace.append(f"socket {self.number} <- {line_of(frame)}")
            self.creates.append(create)
            self._service.creates.append(create)
            self._conversation.create(frame)
        self._frames.put_nowait(frame)


SocketScript = Callable[[Peer], Awaitable[None]]


@dataclass
class Refuse:
    """Answers an upgrade with an HTTP status."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Post:
    """Answers a POST: `events` as SSE, or `body` with another status. `cut`: the connection ends after the events."""

    events: Sequence[Json] = ()
    status: int = 200
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hold: bool = False
    """Send the events and then nothing, until the client leaves."""


def replies(*each: Iterable[Json]) -> SocketScript:
    """A connection that answers its creates in order and then waits for the client to leave."""

    async def script(peer: Peer) -> None:
        await peer.answer(*each)
        await peer.left()

    return script


class ScriptedService:
    """Use `running(...)`; `base_url` is what a client is given.

    `then` serves the sockets, and `then_post` the POSTs, that come after the scripts are used up.
    """

    def __init__(
        self,
        sockets: Sequence[SocketScript | Refuse],
        posts: Sequence[Post],
        then: SocketScript | Refuse = Refuse(500),  # noqa: B008 - never changed
        then_post: Callable[[Create], Post] | None = None,
    ) -> None:
        self.base_url = ""
        self.handshakes: list[Request] = []
        self.creates: list[Create] = []
        self.posts: list[Create] = []
        self.post_headers: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.trace: list[str] = []
        """Every handshake, create and POST in order, one line each."""
        self.connections = 0
        self._sockets, self._posts, self._then, self._then_post = list(sockets), list(posts), then, then_post
        self._http = Conversation(self.violations)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._failures: list[BaseException] = []
        self.peers: list[Peer] = []
        self._opened = asyncio.Event()

    async def start(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=64 * 1024 * 1024)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def until_opened(self, count: int) -> None:
        """Wait until so many sockets were opened."""
        async with asyncio.timeout(WAIT_S):
            while len(self.peers) < count:
                self._opened.clear()
                await self._opened.wait()

    async def stop_listening(self) -> None:
        """Refuse new connections and end the open ones."""
        assert self._server is not None
        self._server.close()
        for peer in self.peers:
            await peer.drop()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        _, late = await asyncio.wait(self._tasks, timeout=WAIT_S) if self._tasks else (set(), set())
        for task in late:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def verify(self) -> None:
        """Fail if an invariant was broken, a script failed or was not used."""
        if self._failures:
            raise self._failures[0]
        assert self.violations == []
        assert not self._sockets, f"{len(self._sockets)} socket scripts were not used"
        assert not self._posts, f"{len(self._posts)} POST scripts were not used"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._serve(reader, writer)
        except (Gone, ConnectionError, asyncio.IncompleteReadError):
            pass
        except Exception as failure:
            self._failures.append(failure)  # `verify` raises it in the test
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"POST "):
                await self._upgrade(head, reader, writer)
                return
            if not await self._post(head, reader, writer):
                return

    async def _upgrade(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A logger of its own, so that a test of what the client logs sees the client's lines only.
        protocol = ServerProtocol(max_size=None, logger=logging.Logger("scripted", logging.CRITICAL))
        protocol.receive_data(head)
        (request,) = protocol.events_received()
        assert isinstance(request, Request)
        self.handshakes.append(request)
        script = self._sockets.pop(0) if self._sockets else self._then
        if isinstance(script, Refuse):
            self.trace.append(f"upgrade refused with {script.status}")
            extra = "".join(f"{name}: {value}\r\n" for name, value in script.headers.items())
            writer.write(f"HTTP/1.1 {script.status} No\r\nContent-Length: 0\r\n{extra}\r\n".encode())
            await writer.drain()
            return
        protocol.send_response(protocol.accept(request))
        peer = Peer(self, len(self.handshakes), protocol, reader, writer)
        self.trace.append(f"socket {peer.number} opened")
        self.peers.append(peer)
        self._opened.set()
        reading = asyncio.create_task(peer.read())  # from here on whoever waits for the client to be gone is told
        try:
            await peer.flush()
            await script(peer)
        finally:
            writer.close()
            await reading

    async def _post(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one POST; False if the connection is over."""
        lines = head.decode().split("\r\n")[1:]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.post_headers.append(headers)
        self.posts.append(Create(json.loads(body), len(body), 0))
        self.trace.append(f"POST <- {line_of(self.posts[-1].body)}")
        self._http.create(self.posts[-1].body)
        if self._posts:
            post = self._posts.pop(0)
        elif self._then_post is not None:
            post = self._then_post(self.posts[-1])
        else:
            post = Post(status=500, body={"error": {"message": "no script"}})
        extra = "".join(f"{name}: {value}\r\n" for name, value in post.headers.items())
        if post.body is not None or post.status != 200:
            data = json.dumps(post.body or {}).encode()
            kind = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
            writer.write(f"HTTP/1.1 {post.status} X\r\n{kind}{extra}\r\n".encode() + data)
            await writer.drain()
            return True
        kind = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        writer.write(f"HTTP/1.1 200 OK\r\n{kind}{extra}\r\n".encode())
        for event in post.events:
            self._http.event(event)
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()
        if post.hold:
            await reader.read(1)
        if post.hold or post.cut:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


@asynccontextmanager
async def running(
    *sockets: SocketScript | Refuse,
    posts: Sequence[Post] = (),
    then: SocketScript | Refuse = Refuse(500),  # noqa: B008 - never changed
    then_post: Callable[[Create], Post] | None = None,
) -> AsyncIterator[ScriptedService]:
    """A started service; on a clean exit it stops, and fails the test where `verify` does."""
    service = await ScriptedService(sockets, posts, then, then_post).start()
    try:
        yield service
    finally:
        await service.stop()
    service.verify()
