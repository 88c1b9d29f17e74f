"""The live stream: server-sent events to one browser, shared by its tabs.

A browser that does not take what is sent within `WRITE_S` is cut off, half-open ones included; what it holds meanwhile
is one frame. Ids are positions in the hub's ring, so that a browser that comes back goes on where it was.
"""

from __future__ import annotations

import asyncio
import logging
import random
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_core.telemetry.display import escaped_json_bytes
from dashboard.hub.frames import TotalsNow
from dashboard.hub.people.auth import Identity
from dashboard.web.access import ReadApi
from dashboard.web.parts import Parts, parts_of
from dashboard.web.replies import WebError

log = logging.getLogger(__name__)

WRITE_S = 10.0
BEAT_S = 10.0
"""Longest silence; a browser calls itself stale after twice that."""
RECHECK_S = 30.0
"""How often the credential is checked anew though nothing was changed."""
MAX_STREAMS = 400
MAX_STREAMS_EACH = 200
"""Of one credential: browsers and tools that use it."""
MAX_TURNS = 8
"""Turns that one browser watches beside the page of now."""

_NOTHING = TotalsNow(0, b"", False)

router = APIRouter()


@router.get("/api/stream")
async def stream(request: Request, identity: ReadApi) -> Response:
    """`hello`, `turns`, `totals`, `resync`, `beat` and `signed_out` events. Query: `turn` (repeatable) for turns to be
    told of wherever they are in the list; `after` stands in for the header Last-Event-ID."""
    parts = parts_of(request)
    if sum(parts.streams.values()) >= MAX_STREAMS or parts.streams.get(identity.digest, 0) >= MAX_STREAMS_EACH:
        message = "Too many open streams; close some pages."
        raise WebError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_streams", message, retry_after_s=15)
    after = request.headers.get("last-event-id") or request.query_params.get("after") or ""
    turns = tuple(sorted({turn[:256] for turn in request.query_params.getlist("turn")}))[:MAX_TURNS]
    return EventStream(parts, identity, after, turns)


class EventStream(Response):
    """Runs until the browser goes, its credential ends, or the process stops."""

    def __init__(self, parts: Parts, identity: Identity, after: str, turns: tuple[str, ...]) -> None:
        super().__init__()
        self._parts, self._identity, self._after, self._turns = parts, identity, after, turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts, digest, writer = self._parts, self._identity.digest, _Writer(send)
        parts.streams[digest] = parts.streams.get(digest, 0) + 1
        parts.hub.live.readers += 1
        telling = asyncio.create_task(self._tell(writer), name="stream")
        tasks = {
            telling,
            asyncio.create_task(_gone(receive), name="stream-gone"),
            asyncio.create_task(parts.stopping.wait(), name="stream-stopping"),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            parts.hub.live.readers -= 1
            parts.streams[digest] -= 1
            if not parts.streams[digest]:
                del parts.streams[digest]
        failure = None if telling.cancelled() else telling.exception()
        try:
            if failure is not None:
                raise failure
            await writer.end()
        except TimeoutError:
            parts.hub.live.closed_slow += 1
            log.info("a browser did not take its stream for %.0f s; its connection was dropped", WRITE_S)
            parts.abort(scope.get("client"))

    async def _tell(self, writer: _Writer) -> None:
        hub, frames, people, team = self._parts.hub, self._parts.frames, self._parts.people, self._identity.sees
        position = self._after or hub.live.cursor
        first = None if self._after else frames.first(team)
        hello = b"retry: %d\n" % random.randint(1000, 3000) + _event("hello", b"{}", position)
        await writer.start()
        await writer.write(hello if first is None else hello + _event(first.event, first.data, position))
        told, version, checked_ns, spoke_ns = _NOTHING, people.version(), hub.clock.mono_ns(), hub.clock.mono_ns()
        while True:
            frame = frames.next(position, team, self._turns)
            position = hub.live.cursor if frame is None else frame.cursor
            says = b"" if frame is None else _event(frame.event, frame.data, frame.cursor)
            totals = frames.totals(team)
            if totals.data != told.data or (totals.busy and totals.at_s != told.at_s):
                says += _event("totals", b'{"at_s":%d,"totals":%b}' % (totals.at_s, totals.data), "")
                told = totals
            now_ns = hub.clock.mono_ns()
            if not says and now_ns - spoke_ns > BEAT_S * 1e9:
                says = _event("beat", b"{}", position)
            if people.version() != version or now_ns - checked_ns > RECHECK_S * 1e9:
                version, checked_ns = people.version(), now_ns
                if not self._parts.auth.still(self._identity):
                    await writer.write(_event("signed_out", b"{}", ""))
                    return
            if says:
                await writer.write(says)
                spoke_ns = now_ns
            if hub.live.cursor == position:
                await hub.live.wait(1.0)


class _Writer:
    """Sends within a deadline; raises TimeoutError if the browser does not take it in time."""

    def __init__(self, send: Send) -> None:
        self._send, self._open = send, False

    async def start(self) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store, no-transform"),
            (b"x-accel-buffering", b"no"),
        ]
        self._open = True
        await self._say({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(self, data: bytes) -> None:
        await self._say({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        if self._open:
            await self._say({"type": "http.response.body", "body": b"", "more_body": False})

    async def _say(self, message: dict[str, object]) -> None:
        async with asyncio.timeout(WRITE_S):
            await self._send(message)


def _event(name: str, data: bytes, cursor: str) -> bytes:
    """One event; data is JSON and so holds no line break."""
    head = f"id: {cursor}\nevent: {name}\n" if cursor else f"event: {name}\n"
    return head.encode() + b"data: " + escaped_json_bytes(data) + b"\n\n"


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
