"""The HTTP shell: `POST /v1/responses` as JSON or SSE by the same pipeline.

A request is a connection with one lane and one call: the same machine decides on its keepalives.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from starlette.types import Receive, Scope, Send

from agent_core.clock import new_id
from agent_core.errors import ConnectionLost, LooplineError, ServiceError, WireError
from agent_core.protocol.lanes import Head, Outcome, Relation, Ticket
from agent_core.protocol.server_actions import Action, Keepalive, Start, Stop
from agent_core.protocol.server_connection import ServerConnection
from agent_core.protocol.server_inputs import Cancel
from agent_core.responses_server.output.event_builder import Frame
from agent_core.responses_server.pipeline.active import Call, wants_timing
from agent_core.responses_server.service import Service
from agent_core.responses_server.shells.http.replies import error_body, owner_of, read_body, send_reply, told
from agent_core.responses_server.shells.ticking import watch_time
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.state.chain import ChainState
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
        limits, key = self._service.limits, owner_of(scope)
        refusal = limits.connect(key)
        counted = refusal is None
        try:
            # A body that is not read would have its connection reset before the client has read the answer.
            body = await read_body(receive)
            with stages.timed("admission"):
                if (refusal := refusal or limits.admit(key)) is not None:
                    raise refusal
                create = read_create_body(body, known_utf8=True)
                _check_http_only(create)
        except (WireError, ServiceError) as error:
            self._service.counters.refused(error.code)
            await exchange.refuse(error)
        except ConnectionLost:
            return
        else:
            await exchange.serve(create, stages)
        finally:
            if counted:
                limits.disconnect(key)


class _Exchange:
    """One request and its answer: also the sink of its response. JSON waits for the end, SSE writes event by event."""

    transport = "http"

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
        self._service, self._scope, self._receive, self._asgi_send = service, scope, receive, send
        policy = replace(service.policy, life_s=math.inf)
        self._machine: ServerConnection[ChainState] = ServerConnection(policy, service.now_s())
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()
        self._ticket: Ticket | None = None
        self._call: Call | None = None
        self._work: asyncio.Task[None] | None = None
        self._streaming = False
        self._started = False

    async def serve(self, create: ResponseCreate, stages: Stages) -> None:
        """Run the response; stop it if the client leaves."""
        self._streaming = create.stream is True
        response_id = new_id("resp")
        self._call = call = Call(
            response_id=response_id,
            create=create,
            router=self._service.router(),
            stages=stages,
            connection=new_id("http"),
            owner=owner_of(self._scope),
            relation=Relation.FRESH if create.previous_response_id is None else Relation.MISS,
            timing=self._streaming and wants_timing(self._scope["headers"]),
        )
        await self._perform(self._machine.create(self._service.now_s(), None, create.previous_response_id, None))
        work = self._work = asyncio.create_task(self._service.pipeline.run(call, self))
        gone = asyncio.create_task(_wait_gone(self._receive))
        watch = asyncio.create_task(watch_time(self._machine, self._service.now_s, self._changed, self._perform))
        self._service.opened(self)
        self._service.in_flight.add(response_id, call.owner, self._cancel)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone, watch):
                task.cancel()
            await asyncio.gather(gone, watch, return_exceptions=True)
            with suppress(asyncio.CancelledError, ConnectionLost):
                await work
            self._service.closed(self)
            self._service.in_flight.remove(response_id, call.ladder.response if call.ladder is not None else None)

    async def _cancel(self) -> None:
        """Cancel the response from elsewhere."""
        await self._perform(self._machine.on(Cancel(None), self._service.now_s()))

    async def drain(self) -> None:
        """A request takes nothing new anyhow; it ends by itself."""

    async def cut(self) -> None:
        """Its connection is closed with the server's socket; HTTP has no other word for it."""

    async def send(self, frames: Sequence[Frame]) -> None:
        if not self._streaming:
            return
        await self._write([encode_event(frame.type, frame.data) for frame in frames])
        if self._ticket is not None:
            if self._ticket.last_sent_s is None:
                self._changed.set()
            self._machine.sent(self._ticket, self._service.now_s())

    async def end(self, frames: Sequence[Frame], outcome: Outcome, head: Head[ChainState] | None) -> None:
        self._machine.finished(self._service.now_s(), self._running, outcome, head)
        if head is not None:
            # No lane goes on from here, so what the engine keeps is let go before the answer lets the client ask again.
            head.payload.memory.clear()
        if self._streaming:
            await self._write([*(encode_event(frame.type, frame.data) for frame in frames), DONE], last=True)
        elif self._call is not None and self._call.ladder is not None:
            body = encode(self._call.ladder.response)
            await send_reply(self._scope, self._receive, self._asgi_send, 200, body)

    async def refuse(self, error: LooplineError) -> None:
        if self._ticket is not None:
            self._machine.finished(self._service.now_s(), self._ticket, Outcome.FAILED)
        await told(error)(self._scope, self._receive, self._asgi_send)

    @property
    def _running(self) -> Ticket:
        assert self._ticket is not None
        return self._ticket

    async def _perform(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case Start(ticket):
                    self._ticket = ticket
                case Stop(_, cause) if self._call is not None and self._work is not None:
                    self._call.stop = cause
                    self._work.cancel()
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


async def _wait_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _check_http_only(create: ResponseCreate) -> None:
    if create.stream_id is not None:
        raise WireError("stream_id belongs to WebSocket connections.", param="stream_id")
