"""Errors: what went wrong, newest first, by severity, code and agent."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dashboard.hub.live.rows import LiveError
from dashboard.hub.people.names import person_of
from dashboard.hub.store.records import FindingQuery
from dashboard.web.access import ReadApi, ReadPage
from dashboard.web.pages.common import RANGES, TimeRange, filters, page, time_range
from dashboard.web.pages.now import shown
from dashboard.web.parts import Parts, parts_of
from dashboard.web.replies import json_reply

PAGE = 100
FILTERS = ("severity", "code", "agent", "turn")
AFTERWARDS = ("client", "person")
"""Filters that the store does not know."""
MAX_READ = 5_000
"""Troubles that are looked through for a client or a person."""
SEVERITIES = ("error", "warning", "recovered")

router = APIRouter()


@router.get("/errors")
async def errors_page(request: Request, identity: ReadPage) -> Response:
    parts = parts_of(request)
    span = time_range(request, parts.hub.now_ns() // 10**9, "7d")
    asked = filters(request, FILTERS + AFTERWARDS)
    before = _before(request, span)
    found = await errors_of(parts, identity.sees, span, asked, before)
    more = found[PAGE - 1].at_ms if len(found) > PAGE else 0
    return page(
        request, "errors.html", identity, span=span, ranges=RANGES, asked=asked, errors=found[:PAGE], more=more,
        clients=sorted({error.client for error in found if error.client}),
        people=sorted({person_of(error.agent) for error in found}),
        codes=Counter(error.code for error in found).most_common(12), severities=SEVERITIES,
    )  # fmt: skip


@router.get("/api/errors")
async def errors_as_data(request: Request, identity: ReadApi) -> Response:
    parts = parts_of(request)
    span = time_range(request, parts.hub.now_ns() // 10**9, "7d")
    found = await errors_of(parts, identity.sees, span, filters(request, FILTERS + AFTERWARDS), _before(request, span))
    return json_reply({"errors": found[:PAGE]})


async def errors_of(
    parts: Parts, team: str | None, span: TimeRange, asked: dict[str, str], before_ms: int
) -> list[LiveError]:
    """Up to one more than a page."""
    client, person = asked["client"], asked["person"]
    limit = MAX_READ if client or person else PAGE + 1
    of_store = {name: asked[name] for name in FILTERS}
    query = FindingQuery(team=team, since_us=span.since_s * 10**6, until_us=before_ms * 1000, limit=limit, **of_store)
    records = await parts.hub.ask(parts.hub.store.findings, query)
    errors = [error for record in records if (error := shown(record)) is not None]
    return [error for error in errors if client in ("", error.client) and person in ("", person_of(error.agent))][
        : PAGE + 1
    ]


def _before(request: Request, span: TimeRange) -> int:
    text = request.query_params.get("before", "")
    latest = (span.until_s + 1) * 1000
    return min(int(text), latest) if text.isascii() and text.isdigit() and len(text) < 16 else latest
