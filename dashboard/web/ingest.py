"""`/api/ingest`: agents push batches, and ask how far they are."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from agent_core.telemetry.events import SCHEMA_VERSION
from agent_core.telemetry.hub.hub_client import AFTER_HEADER
from dashboard.hub.ingest.ndjson import MAX_BODY_BYTES, MAX_EVENTS, Refused, read_batch
from dashboard.hub.people.auth import ALL_TEAMS, LOCAL_TEAM, Identity
from dashboard.web.access import IngestApi, read_body
from dashboard.web.parts import Parts, parts_of
from dashboard.web.replies import WebError, error_reply, json_reply

log = logging.getLogger(__name__)

BODY_S = 20.0
"""How long an agent may take to send its body."""
_BIG = 64 << 10
"""Bodies from this size on are read in a thread, and those that are compressed."""

router = APIRouter()


@router.get("/api/ingest")
async def acked(request: Request, identity: IngestApi) -> Response:
    """How far a source is (`?source=`), and what this hub takes."""
    parts = parts_of(request)
    source = request.query_params.get("source", "")
    seq = await parts.hub.acked_now(team_of(identity), identity.name, source) if source else 0
    limits = {"events": MAX_EVENTS, "bytes": MAX_BODY_BYTES}
    return json_reply({"acked": seq, "schema": SCHEMA_VERSION, "content": False, "limits": limits})


@router.post("/api/ingest")
async def ingest(request: Request, identity: IngestApi) -> Response:
    """Take a batch of one source; the answer's `acked` is its last sequence, which is durable. `late` says how many
    events came behind later ones and are not kept."""
    parts = parts_of(request)
    body = await timely_body(request)
    encoding = request.headers.get("content-encoding", "")
    try:
        if len(body) < _BIG and not encoding:
            batch = read_batch(body, encoding)
        else:
            batch = await asyncio.to_thread(read_batch, body, encoding)
        bucket = f"{identity.team}/{identity.name}/{batch.source}"
        wait_s = parts.ingest_rate.take(bucket, parts.hub.clock.mono_ns())
        if wait_s:
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too_many_batches",
                "Send larger batches, less often.",
                retry_after_s=wait_s,
            )
        taken = await parts.hub.accept(team_of(identity), identity.name, batch, _after(request))
    except Refused as refused:
        note_refusal(parts, identity, refused)
        error = WebError(refused.status, refused.code, refused.message, retry_after_s=refused.retry_after_s)
        return error_reply(error)
    return json_reply({"acked": taken.acked, **({"late": taken.late} if taken.late else {})})


async def timely_body(request: Request) -> bytes:
    """The body, if it comes within `BODY_S`. Raises `WebError`."""
    try:
        async with asyncio.timeout(BODY_S):
            return await read_body(request, MAX_BODY_BYTES)
    except TimeoutError:
        raise WebError(HTTPStatus.REQUEST_TIMEOUT, "too_slow", "The body did not come in time.") from None


def _after(request: Request) -> int | None:
    """What the agent says was acknowledged to it of this source, None if it does not say."""
    told = request.headers.get(AFTER_HEADER, "")
    return int(told) if told.isascii() and told.isdigit() and len(told) <= 16 else None


def team_of(identity: Identity) -> str:
    """The team that what somebody pushes belongs to; of who sees all teams, this machine's."""
    return LOCAL_TEAM if identity.team == ALL_TEAMS else identity.team


def note_refusal(parts: Parts, identity: Identity, refused: Refused) -> None:
    """Count what was not taken, and have it known."""
    parts.hub.counters.refused[refused.code] += 1
    if refused.retry_after_s is None:
        log.warning("a batch of %s was refused: %s", identity.name, refused.code)
        if parts.refusals.take(f"{identity.name} {refused.code}", parts.hub.clock.mono_ns()) == 0:
            parts.auth.audit(identity.name, "ingest.refused", refused.code)
