"""Data for tools: exports, following, health, metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import BinaryIO

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agent_core.telemetry.display import escaped_json_bytes
from agent_core.telemetry.events import Event
from agent_core.telemetry.export.files import write_csv, write_ndjson
from agent_core.telemetry.export.prometheus import CONTENT_TYPE
from dashboard.hub.metrics import exposition
from dashboard.hub.queries.history import export_filter, exported, follow
from dashboard.hub.store.records import day_of
from dashboard.web.access import ExportApi, MetricsApi, ReadApi
from dashboard.web.health import gauges, health_of
from dashboard.web.pages.common import filters, time_range
from dashboard.web.parts import parts_of
from dashboard.web.piping import piped
from dashboard.web.replies import WebError, json_reply

CURSOR_HEADER = "x-loopline-cursor"
MAX_WAIT_S = 30.0
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_WRITERS: dict[str, tuple[Callable[[Iterator[Event], BinaryIO], int], str]] = {
    "csv": (write_csv, "text/csv; charset=utf-8"),
    "ndjson": (write_ndjson, "application/x-ndjson"),
}

router = APIRouter()
public = APIRouter()


@public.get("/healthz")
async def alive() -> Response:
    """Whether the process answers. Says nothing else, for it asks for nothing."""
    return json_reply({"status": "ok"})


@public.get("/static/{stamp}/{name:path}")
async def static(request: Request, stamp: str, name: str) -> Response:
    asset = parts_of(request).assets.find(stamp, name)
    if asset is None:
        raise WebError(HTTPStatus.NOT_FOUND, "no_such_file", "There is no such file in this version.")
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(asset.body, headers=headers, media_type=asset.content_type)


@router.get("/api/me")
async def me(identity: ReadApi) -> Response:
    return json_reply({"name": identity.name, "role": identity.role, "team": identity.team})


@router.get("/api/health")
async def health(request: Request, identity: ReadApi) -> Response:
    return json_reply(await health_of(parts_of(request)))


@router.get("/metrics")
async def metrics(request: Request, identity: MetricsApi) -> Response:
    parts = parts_of(request)
    own = gauges(await health_of(parts))
    text = exposition(parts.hub.since, identity.sees, own, parts.hub.counters)
    return Response(text, media_type=CONTENT_TYPE)


@router.get("/api/events")
async def events(request: Request, identity: ReadApi) -> Response:
    """Events as they are written, NDJSON, at most 2,000 an answer. Query: `after` (the header of the answer before),
    `since` (a day, without `after`; default today), `wait_s` (how long to wait for something to come), `tellers`
    (1: a line before them says which identity each source is of)."""
    parts = parts_of(request)
    hub, asked = parts.hub, request.query_params
    since = asked.get("since", "")
    since = since if _DAY.match(since) else day_of(hub.now_us())
    cursor, wait_s = asked.get("after", ""), _bounded(asked.get("wait_s", "0"), MAX_WAIT_S)
    until_ns = hub.clock.mono_ns() + round(wait_s * 1e9)
    while True:
        written = hub.writing.written
        found = await follow(hub, cursor, since, identity.sees, tellers=asked.get("tellers") == "1")
        cursor = found.cursor
        left_s = (until_ns - hub.clock.mono_ns()) / 1e9
        if found.bodies or left_s <= 0 or parts.stopping.is_set() or await request.is_disconnected():
            break
        await hub.writing.wait_written(written, min(left_s, 1.0))
    body = b"".join(escaped_json_bytes(body) + b"\n" for body in found.bodies)
    return Response(body, headers={CURSOR_HEADER: cursor}, media_type="application/x-ndjson")


@router.get("/api/export")
async def export(request: Request, identity: ExportApi) -> Response:
    """`format` csv or ndjson, with the filters and the range of the page it is linked from. Streams."""
    parts = parts_of(request)
    hub = parts.hub
    kind = request.query_params.get("format", "ndjson")
    if kind not in _WRITERS:
        raise WebError(HTTPStatus.BAD_REQUEST, "unknown_format", "format must be csv or ndjson.")
    if parts.exports.locked():
        message = "Too many exports at once; try again soon."
        raise WebError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_exports", message, retry_after_s=10)
    span = time_range(request, hub.now_ns() // 10**9)
    since_us, until_us = span.since_s * 10**6, span.until_s * 10**6
    asked = filters(request, ("agent", "client", "person", "project", "session", "model"))

    tellers = await hub.tellers(list(hub.roster.sources))

    def write(out: BinaryIO) -> None:
        takes = export_filter(hub, **asked, team=identity.sees, since_us=since_us, until_us=until_us)
        _WRITERS[kind][0](exported(hub.store, identity.sees, since_us, until_us, takes, tellers), out)

    parts.auth.audit(identity.name, "export", f"{kind} {span.text}")
    name = f"loopline-{day_of(since_us)}-{day_of(until_us)}.{kind}"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(piped(write, parts.exports), headers=headers, media_type=_WRITERS[kind][1])


def _bounded(text: str, most: float) -> float:
    """A number of seconds from 0 to `most`; 0 for what is none."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return min(most, max(0.0, value)) if math.isfinite(value) else 0.0
