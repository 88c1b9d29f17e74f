"""The HTTP shell: `POST /v1/responses` as JSON or SSE by the same pipeline, the model list and the health probes.

A request is a connection with one lane and one call: the same machine decides on its keepalives.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agent_core.clock import new_id
from agent_core.errors import ConnectionLost, LooplineError, WireError
from agent_core.protocol.lanes import Head, Outcome, Relation, Ticket
from agent_core.protocol.server_connection import Action, Keepalive, ServerConnection, Start
from agent_core.responses_server.call import Call, wants_timing
from agent_core.responses_server.http.replies import error_body, send_reply
from agent_core.responses_server.output.ladder import Frame
from agent_core.responses_server.refusals import refusal
from agent_core.responses_server.service import Service
from agent_core.responses_server.settings import MAX_BODY_BYTES
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.state.remembered import Remembered
from agent_core.responses_server.ticking import watch_time
from agent_core.wire.codec import encode
from agent_core.wire.requests import ResponseCreate, read_create_body
from agent_core.wire.sse import DONE, encode_event

SSE_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class ResponsesEndpoint:
    """ASGI app of `/v1/responses` for everything that is no upgrade."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            body = error_body("upgrade_required", "Upgrade to a WebSocket, or POST a response here.")
            await send_reply(scope, receive, send, 426, body, [(b"upgrade", b"websocket"), (b"allow", b"POST")])
            return
        if self._service.draining:
            body = error_body("server_is_overloaded", "The server is shutting down.", kind="server_error")
            await send_reply(scope, receive, send, 503, body, [(b"retry-after", b"1")])
            return
        exchange = _Exchange(self._service, scope, receive, send)
        stages = Stages(self._service.clock)
        try:
            body = await _read_body(receive)
            with stages.timed("admission"):
                create = read_create_body(body)
                _check_http_only(create)
        except WireError as error:
            await exchange.refuse(error)
        except ConnectionLost:
            return
        else:
            await exchange.serve(create, stages)


class _Exchange:
    """One request and its answer: also the sink of its response. JSON waits for the end, SSE writes event by event."""

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
        self._service, self._scope, self._receive, self._asgi_send = service, scope, receive, send
        policy = replace(service.policy, life_s=math.inf)
        self._machine: ServerConnection[Remembered] = ServerConnection(policy, service.now_s())
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()
        self._ticket: Ticket | None = None
        self._call: Call | None = None
        self._streaming = False
        self._started = False

    async def serve(self, create: ResponseCreate, stages: Stages) -> None:
        """Run the response; stop it if the client leaves."""
        self._streaming = create.stream is True
        self._call = Call(
            create=create,
            router=self._service.router(),
            stages=stages,
            connection=new_id("http"),
            relation=Relation.FRESH if create.previous_response_id is None else Relation.MISS,
            timing=self._streaming and wants_timing(self._scope["headers"]),
        )
        await self._perform(self._machine.create(self._service.now_s(), None, create.previous_response_id, None))
        work = asyncio.create_task(self._service.pipeline.run(self._call, self))
        gone = asyncio.create_task(_wait_gone(self._receive))
        watch = asyncio.create_task(watch_time(self._machine, self._service.now_s, self._changed, self._perform))
        self._service.opened(self)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone, watch):
                task.cancel()
            await asyncio.gather(gone, watch, return_exceptions=True)
            with suppress(asyncio.CancelledError, ConnectionLost):
                await work
            self._service.closed(self)

    async def drain(self) -> None:
        """A request takes nothing new anyhow; it ends by itself."""

    async def send(self, frames: Sequence[Frame]) -> None:
        if not self._streaming:
            return
        await self._write([encode_event(frame.type, frame.data) for frame in frames])
        if self._ticket is not None:
            if self._ticket.last_sent_s is None:
                self._changed.set()
            self._machine.sent(self._ticket, self._service.now_s())

    async def end(self, frames: Sequence[Frame], outcome: Outcome, head: Head[Remembered] | None) -> None:
        self._machine.finished(self._service.now_s(), self._running, outcome, head)
        if self._streaming:
            await self._write([*(encode_event(frame.type, frame.data) for frame in frames), DONE], last=True)
        elif self._call is not None and self._call.ladder is not None:
            body = encode(self._call.ladder.response)
            await send_reply(self._scope, self._receive, self._asgi_send, 200, body)

    async def refuse(self, error: LooplineError) -> None:
        if self._ticket is not None:
            self._machine.finished(self._service.now_s(), self._ticket, Outcome.FAILED)
        event = refusal(None, error, None)
        body = encode({"error": event.error})
        await send_reply(self._scope, self._receive, self._asgi_send, event.status or 500, body)

    @property
    def _running(self) -> Ticket:
        assert self._ticket is not None
        return self._ticket

    async def _perform(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case Start(ticket):
                    self._ticket = ticket
                case Keepalive():
                    frame = self._call.keepalive() if self._call is not None else None
                    if frame is not None and self._streaming:
                        await self._write([encode_event(frame.type, frame.data)])

    async def _write(self, chunks: Sequence[bytes], *, last: bool = False) -> None:
        """Each chunk is one write: some SSE readers lose an event that arrives in two."""
        try:
            async with self._writing:
                if not self._started:
                    self._started = True
                    start = {"type": "http.response.start", "status": 200, "headers": SSE_HEADERS}
                    await self._asgi_send(start)
                for chunk in chunks:
                    await self._asgi_send({"type": "http.response.body", "body": chunk, "more_body": True})
                if last:
                    await self._asgi_send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError as error:
            raise ConnectionLost("the client has left") from error


async def _read_body(receive: Receive) -> bytes:
    """The whole body. Raises WireError above the limit, ConnectionLost if the client leaves."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionLost("the client has left")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise WireError(f"The body is above {MAX_BODY_BYTES} bytes.", code="message_too_large")
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def _wait_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _check_http_only(create: ResponseCreate) -> None:
    if create.stream_id is not None:
        raise WireError("stream_id belongs to WebSocket connections.", param="stream_id")


class Probes:
    """Small answers that need no pipeline."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def health(self, request: Request) -> Response:
        """The process runs."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """New work is taken: the tokenizer is loaded and the service does not shut down."""
        ready = self._service.pipeline.tokenizer.loaded and not self._service.draining
        return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def models(self, request: Request) -> Response:
        """`GET /v1/models`, each with what its engine can do."""
        data = [
            {
                "id": name,
                "object": "model",
                "created": 0,
                "owned_by": "loopline",
                "capabilities": {
                    field: getattr(engine.capabilities, field) for field in engine.capabilities.__struct_fields__
                },
            }
            for name, engine in self._service.registry.items()
        ]
        return JSONResponse({"object": "list", "data": data})
