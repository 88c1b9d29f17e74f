"""The WebSocket shell: text frames in, one JSON object per text frame out. `ServerConnection` decides what happens.

One task reads, one watches the time, each running response has its own; all of them end with the connection. Writes go
through one lock, whose queue keeps frames in the order in which their sequence numbers were given.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from starlette.types import Receive, Scope, Send

from agent_core.clock import new_id
from agent_core.errors import ConnectionLost, LooplineError, ServiceError, WireError
from agent_core.protocol.lanes import Head, Outcome, Ticket
from agent_core.protocol.server_actions import (
    AcceptSteer,
    Action,
    AwaitOutputs,
    Close,
    Deliver,
    Keepalive,
    Refuse,
    RefuseSteer,
    Start,
    Withdraw,
)
from agent_core.protocol.server_actions import Stop as StopAction
from agent_core.protocol.server_connection import DRAIN_CODE, ServerConnection
from agent_core.protocol.server_inputs import Append, BadFrame, Cancel, Disconnect, Drain, Ignorable
from agent_core.protocol.steering import Steer
from agent_core.responses_server.output.event_builder import EventBuilder
from agent_core.responses_server.output.long_response import Rollout, nothing_waits
from agent_core.responses_server.pipeline.active import Call, wants_rollout, wants_timing
from agent_core.responses_server.request.steer_input import read_steer_input
from agent_core.responses_server.service import Service
from agent_core.responses_server.settings import MAX_FRAME_BYTES
from agent_core.responses_server.shells.answer import Answer
from agent_core.responses_server.shells.http.replies import error_body, owner_of, send_reply, told
from agent_core.responses_server.shells.refusals import refusal_data, steer_error
from agent_core.responses_server.shells.ticking import watch_time
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.state.chain import ChainState
from agent_core.wire.codec import encode, present, read
from agent_core.wire.events import SteerFailed
from agent_core.wire.generated.types import RefusedSteer
from agent_core.wire.head import read_head
from agent_core.wire.requests import (
    ResponseAppend,
    ResponseCancel,
    ResponseCreate,
    ResponseSteer,
    read_client_frame,
)

log = logging.getLogger(__name__)

MAX_QUEUED, MAX_QUEUED_BYTES = 1024, 64 * 1024 * 1024
"""Creates waiting on one connection beyond which it is not read until some have started."""


class WebSocketEndpoint:
    """ASGI app of the upgrade at `/v1/responses`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._service.settings.websocket:
            body = error_body("websocket_off", "WebSocket is switched off here; POST to the same address.")
            await send_reply(scope, receive, send, 426, body, [(b"upgrade", b"websocket")])
            return
        if self._service.draining:
            body = error_body("server_is_overloaded", "The server is shutting down.", kind="server_error")
            await send_reply(scope, receive, send, 503, body, [(b"retry-after", b"1")])
            return
        limits, key = self._service.limits, owner_of(scope)
        refusal = limits.connect(key)
        if refusal is not None:
            self._service.counters.refused(refusal.code)
            await receive()  # websocket.connect
            await told(refusal)(scope, receive, send)
            return
        try:
            await _Connection(self._service, scope, receive, send).run()
        finally:
            limits.disconnect(key)


@dataclass(eq=False)
class _Job:
    """What a ticket carries: the request and its timings so far."""

    create: ResponseCreate
    stages: Stages
    admitted_ns: int

    def succeeded(self, previous_response_id: str | None) -> _Job:
        """The job of a successor: the same settings, continuing from there with the input that was queued."""
        create = msgspec.structs.replace(
            self.create, previous_response_id=previous_response_id, input=msgspec.UNSET, generate=None
        )
        stages = self.stages.anew()
        return _Job(create, stages, stages.now_ns())


class _Connection:
    """One accepted socket."""

    transport = "websocket"

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
        self._service, self._receive, self._asgi_send = service, receive, send
        self.id = new_id("conn")
        self._owner = owner_of(scope)
        self._timing = wants_timing(scope["headers"])
        self._rollouts = service.settings.enable_rollout and wants_rollout(scope["headers"])
        self._router = service.router()
        self._machine: ServerConnection[ChainState] = ServerConnection(service.policy, service.now_s())
        self._running: dict[Ticket, Answer] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._names: set[str | None] = set()
        self._writing = asyncio.Lock()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()

    async def run(self) -> None:
        """Serve the connection until it closes; on return nothing of it runs any more."""
        await self._receive()  # websocket.connect
        await self._asgi_send({"type": "websocket.accept"})
        self._service.opened(self)
        opened_s = self._service.now_s()
        watch = asyncio.create_task(watch_time(self._machine, self._service.now_s, self._changed, self._perform))
        try:
            await self._read()
        finally:
            self._service.closed(self)
            watch.cancel()
            await self._perform(self._machine.on(Disconnect(), self._service.now_s()))
            await asyncio.gather(watch, *self._tasks, return_exceptions=True)
            for name in self._names:
                self._service.retention.drop((self.id, name))
            fields = {"connection": self.id, "key": self._owner, "age_s": round(self._service.now_s() - opened_s, 3)}
            log.info("connection closed", extra={"fields": fields})

    async def drain(self) -> None:
        for answer in self._running.values():
            if answer.call.rollout is not None:
                answer.call.rollout.end(ServiceError("The server is shutting down.", code=DRAIN_CODE))
        with suppress(ConnectionLost):
            await self._perform(self._machine.on(Drain(), self._service.now_s()))

    async def cut(self) -> None:
        with suppress(OSError, RuntimeError):
            await self._asgi_send({"type": "websocket.close", "code": 1001, "reason": "server shutting down"})

    async def write(self, frames: Sequence[bytes]) -> None:
        try:
            async with self._writing:
                for data in frames:
                    await self._asgi_send({"type": "websocket.send", "text": data.decode()})
        except (OSError, RuntimeError) as error:
            # OSError: the peer is gone. RuntimeError: we closed already; whatever still wanted to write is too late.
            raise ConnectionLost("the client has left") from error

    async def finished(
        self, ticket: Ticket, frames: Sequence[bytes], outcome: Outcome, head: Head[ChainState] | None
    ) -> None:
        """Free the lane at the moment the terminal frame is queued for writing, then go on with what waited."""
        answer = self._running.pop(ticket, None)
        ladder = answer.call.ladder if answer is not None else None
        self._service.in_flight.remove(ticket.response_id, ladder.response if ladder is not None else None)
        actions = self._machine.finished(self._service.now_s(), ticket, outcome, head)
        self._retain(ticket.lane)
        if frames:
            await self.write(frames)
        await self._perform(actions, ladder)

    def _retain(self, name: str | None) -> None:
        """Count what the lane remembers now."""
        head, retention = self._machine.lanes.head_of(name), self._service.retention
        if head is None:
            retention.drop((self.id, name))
        else:
            retention.keep((self.id, name), head.response_id, head.payload.size, self._machine.lanes.evict)
            self._names.add(name)

    def sent(self, ticket: Ticket) -> None:
        if ticket.last_sent_s is None:
            self._changed.set()
        self._machine.sent(ticket, self._service.now_s())

    async def _read(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                return
            received_ns = self._service.clock.mono_ns()
            text = message.get("text")
            try:
                await self._perform(
                    self._bad_frame(WireError("Send JSON in text frames; binary frames are not read."))
                    if text is None
                    else self._take(text, received_ns)
                )
            except ConnectionLost:
                return
            lanes = self._machine.lanes
            while lanes.queued >= MAX_QUEUED or lanes.queued_bytes >= MAX_QUEUED_BYTES:
                self._room.clear()
                await self._room.wait()

    def _take(self, text: str, received_ns: int) -> list[Action]:
        """Feed one text frame to the machine."""
        now_s = self._service.now_s()
        if len(text) > MAX_FRAME_BYTES // 4 and len(text.encode()) > MAX_FRAME_BYTES:
            message = f"The message is above {MAX_FRAME_BYTES} bytes; send it as POST /v1/responses."
            return self._bad_frame(WireError(message, code="message_too_large"))
        try:
            event = read_client_frame(text)
        except WireError as error:
            head = read_head(text)
            if head.type != "response.create" or error.code == "invalid_stream_id":
                return self._bad_frame(error)
            lane = head.text("stream_id") if "stream_id" in head.fields else None
            return self._machine.create(now_s, lane, head.text("previous_response_id"), None, refusal=error)
        if isinstance(event, ResponseCreate):
            stages = Stages(self._service.clock)
            admitted_ns = stages.now_ns()
            stages.add("admission", admitted_ns - received_ns)
            job = _Job(event, stages, admitted_ns)
            previous = event.previous_response_id
            refusal = self._service.limits.admit(self._owner)
            return self._machine.create(now_s, event.stream_id, previous, job, refusal=refusal, size=len(text))
        if isinstance(event, ResponseCancel) and not self._is_over(event.response_id):
            return self._machine.on(Cancel(event.stream_id), now_s)
        if isinstance(event, ResponseSteer):
            return self._steer(event, now_s)
        if isinstance(event, ResponseAppend) and self._rollouts:
            given = event.input if present(event.input) else msgspec.Raw(b"[]")
            return self._machine.on(Append(event.stream_id, given, nothing_waits()), now_s)
        return self._machine.on(Ignorable(), now_s)

    def _steer(self, event: ResponseSteer, now_s: float) -> list[Action]:
        steer = Steer(event.previous_response_id, event.input)
        try:
            steer = Steer(event.previous_response_id, event.input, read_steer_input(event.input))
        except WireError as error:
            return self._machine.steer(now_s, steer, "", fault=error)
        return self._machine.steer(now_s, steer, new_id("steer"))

    def _is_over(self, response_id: str | None) -> bool:
        """Whether a cancel names a response that does not run; its lane may already be busy with the next one."""
        return response_id is not None and self._machine.lanes.running_as(response_id) is None

    def _bad_frame(self, error: WireError) -> list[Action]:
        return self._machine.on(BadFrame(error), self._service.now_s())

    async def _perform(self, actions: Sequence[Action], ladder: EventBuilder | None = None) -> None:
        """Carry out actions. `ladder`: of the response that has just ended."""
        for action in actions:
            match action:
                case Start(ticket):
                    self._start(ticket)
                case StopAction(ticket, cause):
                    answer = self._running.get(ticket)
                    if answer is not None:
                        answer.stop(cause)
                case Withdraw(ticket):
                    withdrawn = Answer(self, None, self._call(ticket))
                    withdrawn.stop("cancelled")
                    await self._service.pipeline.run(withdrawn.call, withdrawn)
                case Refuse(code, cause, stream_id):
                    self._service.counters.refused(code or (cause.code if isinstance(cause, LooplineError) else ""))
                    await self.write([refusal_data(code, cause, stream_id)])
                case AcceptSteer(ticket, steer):
                    answer = self._running[ticket]
                    assert answer.call.ladder is not None
                    await self.write([answer.call.ladder.steer_accepted(steer.id or "").data])
                    answer.call.cut.ask()
                case AwaitOutputs(_, steer, owed):
                    assert ladder is not None
                    await self.write(
                        [ladder.steer_pending(steer.id or "", [msgspec.Raw(encode(stub)) for stub in owed]).data]
                    )
                case RefuseSteer():
                    await self.write([self._steer_refusal(action, ladder)])
                case Deliver(ticket, given):
                    assert isinstance(given, msgspec.Raw)
                    rollout = self._running[ticket].call.rollout
                    if rollout is None or not rollout.offer(given):
                        await self.write([refusal_data(None, nothing_waits(), ticket.lane)])
                case Keepalive(ticket):
                    await self._keep_alive(ticket)
                case Close(code, reason):
                    with suppress(OSError, RuntimeError):
                        await self._asgi_send({"type": "websocket.close", "code": code, "reason": reason})
        self._room.set()

    def _steer_refusal(self, refused: RefuseSteer, ended: EventBuilder | None) -> bytes:
        """`response.steer.failed`, in the stream of the response that it names if there is one."""
        steer, ticket = refused.steer, refused.ticket
        error = steer_error(refused.code, refused.cause)
        told = RefusedSteer(
            input=read(steer.sent, list[msgspec.Raw] | str | None) or [],
            previous_response_id=steer.previous_response_id,
            id=steer.id,
        )
        answer = self._running.get(ticket) if ticket is not None else None
        ladder = answer.call.ladder if answer is not None else ended
        if ladder is not None:
            return ladder.steer_failed(error, told).data
        return encode(SteerFailed(error=error, steer=told, stream_id=ticket.lane if ticket is not None else None))

    def _start(self, ticket: Ticket) -> None:
        answer = self._running[ticket] = Answer(self, ticket, self._call(ticket))
        self._service.in_flight.add(ticket.response_id, self._owner, lambda: self._cancel(ticket))
        task = answer.start(lambda: self._respond(ticket, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _cancel(self, ticket: Ticket) -> None:
        """Cancel a running response from elsewhere."""
        if ticket in self._running:
            await self._perform(self._machine.on(Cancel(ticket.lane), self._service.now_s()))

    def _call(self, ticket: Ticket) -> Call:
        job = ticket.payload
        assert isinstance(job, _Job)
        if ticket.is_successor:
            job = ticket.payload = job.succeeded(ticket.previous_response_id)
        job.stages.add("queue", job.stages.now_ns() - job.admitted_ns)
        ticket.response_id = new_id("resp")
        wanted = ticket.previous_response_id
        head = self._machine.lanes.head(wanted) if wanted is not None else None
        return Call(
            response_id=ticket.response_id,
            create=job.create,
            router=self._router,
            stages=job.stages,
            connection=self.id,
            owner=self._owner,
            stream_id=ticket.lane,
            head=head.payload if head is not None else None,
            relation=ticket.relation,
            before=[raw for steer in ticket.before for raw in steer.items],
            timing=self._timing,
            rollout=Rollout() if self._rollouts and job.create.generate is not False else None,
        )

    async def _respond(self, ticket: Ticket, answer: Answer) -> None:
        try:
            await self._service.pipeline.run(answer.call, answer)
        except ConnectionLost:
            log.debug("connection %s: the client left during a response", self.id)
        finally:
            if not answer.ended:
                await self.finished(ticket, [], Outcome.CANCELLED, None)

    async def _keep_alive(self, ticket: Ticket) -> None:
        answer = self._running.get(ticket)
        frame = answer.call.keepalive() if answer is not None else None
        if frame is not None:
            await self.write([frame.data])
