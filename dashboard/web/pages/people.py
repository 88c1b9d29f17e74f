"""People and agents: who uses what, and two agents, models or people on one footing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dashboard.hub.queries import people, trends
from dashboard.hub.queries.people import Use
from dashboard.hub.queries.trends import Filter
from dashboard.state import format as fmt
from dashboard.web.access import ReadApi, ReadPage
from dashboard.web.pages.common import RANGES, filters, page, time_range
from dashboard.web.pages.trends import FILTERS, rows_of
from dashboard.web.pages.usage import UsageRow, row_of
from dashboard.web.parts import parts_of
from dashboard.web.replies import json_reply

COMPARABLE = ("client", "model", "person", "agent", "project")

router = APIRouter()


class UseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table, as texts; "–" is unknown."""

    name: str
    origin: str
    with_names: str
    models: str
    projects: str
    calls: str
    turns: str
    tokens_in: str
    cached: str
    tokens_out: str
    reasoning: str
    cost: str
    ttft: str
    call: str
    turn: str
    failed: str
    ttft_means: str


@router.get("/people")
async def people_page(request: Request, identity: ReadPage) -> Response:
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9, "7d")
    everything = await rows_of(hub, span, identity.sees)
    asked = filters(request, FILTERS)
    rows = trends.chosen(everything, Filter(**asked))
    by = request.query_params.get("compare", "client")
    by = by if by in COMPARABLE else "client"
    names = [use.name for use in people.uses(rows, by, "model")]
    a, b = (fmt.one_line(request.query_params.get(side, ""), 120) for side in ("a", "b"))
    if not (a or b) and len(names) > 1:
        a, b = names[0], names[1]
    footing = people.footing(rows, by, a, b) if a != b and {a, b} <= set(names) else None
    return page(
        request, "people.html", identity, span=span, ranges=RANGES, asked=asked, names=trends.names(everything),
        people=[use_row(use) for use in people.uses(rows, "person", "client")],
        agents=[use_row(use) for use in people.uses(rows, "client", "person")],
        suspect=dict(trends.total(rows).figures.suspect),
        by=by, comparable=COMPARABLE, choices=names, a=a, b=b, footing=footing,
    )  # fmt: skip


@router.get("/api/people")
async def people_as_data(request: Request, identity: ReadApi) -> Response:
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9, "7d")
    rows = trends.chosen(await rows_of(hub, span, identity.sees), Filter(**filters(request, FILTERS)))
    found = {
        "people": [_told(use, "clients") for use in people.uses(rows, "person", "client")],
        "agents": [_told(use, "people") for use in people.uses(rows, "client", "person")],
    }
    return json_reply({"since_s": span.since_s, "until_s": span.until_s, **found})


def _told(use: Use, beside: str) -> dict[str, object]:
    row: UsageRow = row_of(use.name, use.figures)
    lists = {beside: use.with_names, "models": use.models, "projects": use.projects}
    return {**msgspec.structs.asdict(row), "origin": use.origin, "turns": use.figures.turns, **lists}


def use_row(use: Use) -> UseRow:
    figures, usage = use.figures, row_of(use.name, use.figures)
    return UseRow(
        name=fmt.one_line(use.name, 60) or "unknown",
        origin=use.origin,
        with_names=_some(use.with_names),
        models=_some(use.models),
        projects=_some(use.projects),
        calls=fmt.number(figures.calls),
        turns=fmt.number(figures.turns),
        tokens_in=fmt.marked(fmt.number(usage.input_tokens), suspect="input_tokens" in usage.suspect),
        cached=fmt.marked(
            fmt.cached(usage.cached_tokens, figures.cache_ratio), suspect="cached_tokens" in usage.suspect
        ),
        tokens_out=fmt.marked(fmt.number(usage.output_tokens), suspect="output_tokens" in usage.suspect),
        reasoning=fmt.number(usage.reasoning_tokens),
        cost=fmt.money(usage.cost_usd) + ("+" if usage.cost_usd is not None and figures.cost_unknown else ""),
        ttft=fmt.duration(figures.percentile("ttft", 0.5)),
        call=fmt.duration(figures.percentile("duration", 0.5)),
        turn=fmt.duration(figures.percentile("turn_duration", 0.5)),
        failed=fmt.percent(figures.statuses["failed"] / figures.calls),
        ttft_means=people.ttft_of(use.name),
    )


def _some(names: Sequence[str]) -> str:
    if not names:
        return fmt.UNKNOWN
    shown = ", ".join(fmt.one_line(name, 40) for name in names[: people.NAMED])
    return shown if len(names) <= people.NAMED else f"{shown} and {len(names) - people.NAMED} more"
