"""Service: what the team's own Responses services answered, by key, also to clients that export nothing."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dashboard.hub.core import Hub
from dashboard.hub.queries.service import STAGES, ServiceRow, ServiceView, service_view
from dashboard.hub.sources.registry import whole_events
from dashboard.state import format as fmt
from dashboard.web.access import ReadApi, ReadPage
from dashboard.web.pages.common import RANGES, TimeRange, page, time_range
from dashboard.web.parts import parts_of
from dashboard.web.replies import json_reply

SERVICE_RANGES = {name: RANGES[name] for name in ("1h", "6h", "24h", "7d")}
"""Its rows come from the events themselves."""

router = APIRouter()


class ServiceLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table, as texts."""

    key: str
    model: str
    responses: str
    failed: str
    told: str
    transport: str
    tokens_in: str
    cached: str
    tokens_out: str
    duration: str
    stages: str


@router.get("/service")
async def service_page(request: Request, identity: ReadPage) -> Response:
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9)
    view = await view_of(hub, span, identity.sees)
    return page(
        request, "service.html", identity, span=span, ranges=SERVICE_RANGES, view=view,
        lines=[line_of(row) for row in view.rows], stages=STAGES,
    )  # fmt: skip


@router.get("/api/service")
async def service_as_data(request: Request, identity: ReadApi) -> Response:
    """By key and model; `told` are the responses that an agent tells of as well."""
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9)
    view = await view_of(hub, span, identity.sees)
    names = [name for name in ServiceRow.__struct_fields__ if name not in ("duration", "stages")]
    rows = [
        {
            **{name: getattr(row, name) for name in names},
            "duration_ms_p50": row.duration.quantile(0.5),
            "stages_ms_p50": {stage: sketch.quantile(0.5) for stage, sketch in row.stages.items()},
        }
        for row in view.rows
    ]
    told = {"since_s": span.since_s, "until_s": span.until_s, "rows": rows, "errors": view.errors, "cut": view.cut}
    return json_reply(told)


async def view_of(hub: Hub, span: TimeRange, team: str | None) -> ServiceView:
    tellers = await hub.tellers(list(hub.roster.sources))
    since_us, until_us = span.since_s * 10**6, span.until_s * 10**6

    def read() -> ServiceView:
        bodies = hub.store.events_between(since_us, until_us, team)
        return service_view(whole_events(hub.store, bodies), tellers)

    return await hub.ask(read)


def line_of(row: ServiceRow) -> ServiceLine:
    slowest = sorted(((sketch.quantile(0.5) or 0.0, stage) for stage, sketch in row.stages.items()), reverse=True)[:3]
    return ServiceLine(
        key=fmt.one_line(row.key, 60) or "none",
        model=fmt.one_line(row.model, 80) or "unknown",
        responses=fmt.number(row.responses),
        failed=fmt.percent(row.failed / row.responses),
        told=f"{fmt.number(row.told)} of {fmt.number(row.responses)}",
        transport=", ".join(f"{name} {count:,}" for name, count in row.transports.most_common() if name),
        tokens_in=fmt.number(row.input_tokens),
        cached=fmt.cached(row.cached_tokens, row.cached_tokens / row.input_tokens if row.input_tokens else None),
        tokens_out=fmt.number(row.output_tokens),
        duration=f"{fmt.duration(row.duration.quantile(0.5))} / {fmt.duration(row.duration.quantile(0.95))}",
        stages=", ".join(f"{stage.replace('_', ' ')} {fmt.duration(ms)}" for ms, stage in slowest if ms),
    )
