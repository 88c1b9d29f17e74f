"""One conversation's way to the model: sends each call, repeats what broke, and says how it went.

Owns the two ways (WebSocket and HTTP), which of them is used now, and the order of calls. What to do after a failure
is `policy.decide`, what a connection may do is in the ways; here they meet, in one loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable, Mapping

from agent_core.clock import Clock, new_id
from agent_core.errors import LooplineError, ServiceError, UsageError
from agent_core.model.attempt import Call
from agent_core.model.http_way import HttpWay
from agent_core.model.policy import Decision, Failure, Step, decide, of_another_seal
from agent_core.model.port import CallItem, CallRequest, CallResult, CallStarted, FellBack, Reconnecting, Restarted
from agent_core.model.reply import Reply
from agent_core.model.request import Builder, compact_body, read_compacted, without_seal
from agent_core.model.settings import ModelSettings
from agent_core.model.shared import NO_ENDPOINT, Shared
from agent_core.model.socket_way import SocketWay
from agent_core.model.timing import CallTimer, Pace
from agent_core.model.way import Way
from agent_core.protocol.lanes import STREAM_ID
from agent_core.protocol.replay import REPLAY
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.transport.urls import compact_url


class Lane:
    """One conversation: its calls, one after the other. `socket` is its place on the session's connections."""

    def __init__(self, shared: Shared, socket: SocketWay, jitter: Callable[[], float]) -> None:
        self._shared, self._socket, self._jitter = shared, socket, jitter
        self._settings, self._clock, self._emitter = shared.settings, shared.clock, shared.emitter
        self._session = shared.session
        self._http = HttpWay(shared)
        self._builder, self._pace = Builder(), Pace()
        self._lock = asyncio.Lock()
        self._closed = self._unsealed = False

    def call(self, request: CallRequest) -> AsyncGenerator[CallItem, None]:
        return self._stream(request, warmup=False)

    async def prewarm(self, request: CallRequest) -> bool:
        if self._way(http_only=False) is self._http:
            return False
        try:
            async with contextlib.aclosing(self._stream(request, warmup=True)) as stream:
                async for _ in stream:
                    pass
        except LooplineError:
            return False
        self._emitter.emit(ev.ConnectionPrewarmed(session=self._session, connection=self._socket.connection))
        return True

    async def compact(self, request: CallRequest) -> list[bytes] | None:
        if self._shared.cannot_compact or self._closed:
            return None
        try:
            answer = await self._shared.ask(compact_url(self._settings.base_url), compact_body(request))
            return read_compacted(answer)
        except ServiceError as error:
            self._shared.cannot_compact = error.status in NO_ENDPOINT
        except LooplineError:
            pass  # whatever is wrong shows in the next call
        return None

    def lane(self, name: str, *, fork: bool = False) -> Lane:
        raise UsageError("a lane has no lanes of its own")

    @property
    def closed(self) -> bool:
        return self._closed

    async def close(self) -> None:
        self._closed = True
        await self._socket.close()
        await self._http.close()

    async def _stream(self, request: CallRequest, *, warmup: bool) -> AsyncGenerator[CallItem, None]:
        """The loop: send, read until the end, and after a failure do as the policy says."""
        async with self._lock:
            if self._closed:
                raise UsageError("the session is closed")
            call = Call(request, self._timer(request), self._way(http_only=False), warmup=warmup)
            try:
                while True:
                    try:
                        yield await self._send(call)
                        reply, receive, timer = call.reply, call.way.receive, call.timer
                        while not reply.ended():
                            frames = await receive()
                            timer.batch(frames)
                            for at, frame in enumerate(frames, 1):
                                item = reply.read(frame)
                                if item is not None:
                                    yield item
                                elif reply.ended():
                                    call.way.put_back(frames[at:])
                                    break
                            timer.settle()
                        yield await self._finish(call)
                        return
                    except LooplineError as error:
                        void = REPLAY[call.phase].discard
                        decision = await self._after(call, error)
                        if void:
                            yield Restarted(error.code)
                        if decision.step is Step.RETRY:
                            call.retries += 1
                            limit = self._settings.reconnect_limit
                            yield Reconnecting(call.retries, limit, decision.delay_s, error.code)
                            await self._clock.sleep(decision.delay_s)
                        elif decision.step is Step.FALL_BACK:
                            yield FellBack(error.code, self._settings.websocket_again_after_s)
                        elif decision.step is Step.HTTP_ONCE:
                            yield FellBack(error.code, 0.0)
            except (asyncio.CancelledError, GeneratorExit):
                self._cancel(call)
                raise

    async def _send(self, call: Call) -> CallStarted:
        """Get a way ready and let the request leave on it."""
        call.restart(self._way(http_only=call.http_only))
        way, request, timer = call.way, call.request, call.timer
        await way.prepare()
        fields = call.fields = self._builder.fields(request)
        plan = call.plan = way.plan(fields, request.items)
        new = request.items.raw(plan.first_new)[: call.count - plan.first_new]
        if self._unsealed:
            new = [without_seal(raw) for raw in new]
        data = way.encode(fields, plan, new, warmup=call.warmup)
        size_full = self._builder.full_size(len(data), plan, request.items, len(new))

        def left(sent_ns: int) -> None:
            timer.sent(
                sent_ns,
                model=request.model,
                transport=way.kind,
                reuse=plan.reuse,
                input_items=len(new),
                size=len(data),
                size_full=size_full,
                warmup=call.warmup,
                connection=way.connection,
                lane=way.lane,
            )

        await way.send(data, left)
        call.reply = Reply(timer, way.claims, way.running, earlier=way.earlier_items)
        return CallStarted(timer.attempts, plan.reuse, way.kind, back=way is self._socket and self._shared.on_probation)

    async def _finish(self, call: Call) -> CallResult:
        """The response ended: its result, or the error that it ended with."""
        reply, timer, request = call.reply, call.timer, call.request
        if reply.failure is not None:
            raise reply.failure
        items = reply.items()
        if call.warmup and items:
            raise ServiceError("the service sampled a warm-up", code="warmup_sampled")
        response_id = reply.response_id or ""
        call.leave_behind()
        await call.way.succeeded(response_id, call.fields, request.items, call.count, items)
        if call.way is self._socket:
            self._shared.works_again()
        status, finish_reason = reply.status(), reply.finish_reason(items)
        timing = timer.timing()
        call.done = True
        timer.ended(
            "cancelled" if status == "cancelled" else "completed",
            timing,
            response_id=response_id or None,
            usage=reply.usage,
            finish_reason=finish_reason,
            oddities=reply.oddities,
        )
        return CallResult(
            response_id=response_id,
            status="completed" if status == "completed" else "incomplete",
            items=items,
            finish_reason=finish_reason,
            usage=reply.port_usage(),
            attempts=timer.attempts,
            reuse=call.plan.reuse,
            transport=call.way.kind,
            bytes_up=timer.bytes_up,
            timing=timing,
        )

    async def _after(self, call: Call, error: LooplineError) -> Decision:
        """Settle a failed attempt and decide how to go on. Raises `error` where there is nothing to try."""
        way = call.way
        on_lane = way.lane is not None
        call.leave_behind()
        await way.failed(error, ended=call.ended, begun=call.begun)
        decision = decide(
            Failure(
                error=error,
                transport=way.kind,
                retries=call.retries,
                continued=call.continued,
                on_lane=on_lane,
                unsealed=self._unsealed,
                reached=self._socket.reached or self._http.reached,
                probing=self._shared.on_probation,
                jitter=self._jitter(),
            ),
            self._settings,
        )
        if decision.step is Step.RESEND and of_another_seal(error):
            self._unsealed = True
        if decision.step is Step.FALL_BACK:
            self._shared.fall_back()
            self._emitter.emit(ev.ConnectionFallback(cause=error.code, session=self._session))
            call.retries = 0
        elif decision.step is Step.HTTP_ONCE:
            call.http_only, call.retries = True, 0
        if decision.step is Step.RAISE or call.warmup or self._closed:
            call.done = True
            if not call.warmup or call.timer.attempts:
                # A warm-up that never left is no call; why it did not leave shows in the first one.
                call.timer.ended(
                    "failed",
                    call.timer.timing(),
                    response_id=call.response_id,
                    error=error,
                    oddities=call.oddities,
                )
            raise error
        return decision

    def _cancel(self, call: Call) -> None:
        """The consumer left or was cancelled."""
        if call.done:
            return
        call.done = True
        call.leave_behind()
        call.way.abandon()
        call.timer.ended("cancelled", call.timer.timing(), response_id=call.response_id, oddities=call.oddities)

    def _way(self, *, http_only: bool) -> Way:
        return self._http if http_only or self._shared.prefers_http() else self._socket

    def _timer(self, request: CallRequest) -> CallTimer:
        ids = {"session": self._session, "turn": request.turn, "call": request.call or new_id("call")}
        reasoning = request.options.get("reasoning")
        effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else None
        return CallTimer(self._clock, self._emitter, self._pace, ids, effort)


class ModelSession(Lane):
    """Implements `model.port.Model`. One event loop; close it when the conversation ends.

    `jitter` gives random numbers from 0 to 1 for the pauses between retries.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        clock: Clock,
        emitter: Emitter,
        session_id: str | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        shared = Shared(settings, clock, emitter, session_id)
        super().__init__(shared, SocketWay(settings, clock, shared.connections), jitter)
        self._lanes: dict[str, Lane] = {}

    def lane(self, name: str, *, fork: bool = False) -> Lane:
        """A conversation beside this one, for a sub-task: on the same connection where the service grants lanes, else
        on one of its own. Close it when the sub-task is done; closing this session closes it too.

        `fork`: it may go on from this conversation's last response, if its items begin with the same ones. Raises
        UsageError for what can be no lane's name, or for one that is in use.
        """
        taken = self._lanes.get(name)
        if STREAM_ID.fullmatch(name) is None or (taken is not None and not taken.closed):
            raise UsageError(f"{name[:80]!r} can't be the name of a lane, or is in use")
        shared = self._shared
        own = shared.new_connections()
        if shared.settings.grants_lanes:
            socket = SocketWay(shared.settings, shared.clock, shared.connections, lane=name, own=own)
        else:
            socket = SocketWay(shared.settings, shared.clock, own, own=own)
        if fork:
            socket.fork(self._socket)
        lane = self._lanes[name] = Lane(shared, socket, self._jitter)
        return lane

    async def close(self) -> None:
        self._closed = True
        for lane in self._lanes.values():
            await lane.close()
        await super().close()
        await self._shared.close()
