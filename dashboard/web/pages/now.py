"""Now: every running turn, the team's rate, troubles as they come, connections by age."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dashboard.hub.core import Hub
from dashboard.hub.live.rows import LiveError, error_of
from dashboard.hub.queries.history import ended_turns
from dashboard.hub.store.records import DAY_US, FindingQuery, FindingRecord
from dashboard.state.findings import Finding
from dashboard.web.access import ReadApi, ReadPage
from dashboard.web.pages.common import page
from dashboard.web.parts import parts_of
from dashboard.web.replies import json_reply

SHOWN_ERRORS = 12
SHOWN_ENDED = 10

router = APIRouter()


@router.get("/")
async def now(request: Request, identity: ReadPage) -> Response:
    parts = parts_of(request)
    snapshot = parts.frames.snapshot(identity.sees)
    ended = await ended_turns(parts.hub, identity.sees, SHOWN_ENDED)
    errors = await latest_errors(parts.hub, identity.sees)
    return page(
        request, "now.html", identity, snapshot=snapshot, ended=ended, errors=errors,
        empty=not parts.hub.roster.sources,
    )  # fmt: skip


@router.get("/api/now")
async def now_as_data(request: Request, identity: ReadApi) -> Response:
    parts = parts_of(request)
    snapshot = msgspec.structs.asdict(parts.frames.snapshot(identity.sees))
    return json_reply({**snapshot, "ended": await ended_turns(parts.hub, identity.sees, SHOWN_ENDED)})


async def latest_errors(hub: Hub, team: str | None) -> list[LiveError]:
    """Troubles of the last day, newest first."""
    now_us = hub.now_us()
    query = FindingQuery(team=team, since_us=now_us - DAY_US, until_us=now_us + DAY_US, limit=SHOWN_ERRORS)
    return [error for record in await hub.ask(hub.store.findings, query) if (error := shown(record)) is not None]


def shown(record: FindingRecord) -> LiveError | None:
    """A kept trouble as it is shown; None if another version wrote what this one can't read."""
    try:
        return error_of(msgspec.json.decode(record.body, type=Finding), record.team, record.agent)
    except msgspec.DecodeError:
        return None
