"""Usage: tokens, cost and calls of a range by model, agent, project, person or team, as data for tools."""

from __future__ import annotations

import csv
import io
from http import HTTPStatus

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from agent_core.telemetry.export.files import safe_cell
from agent_core.telemetry.rollup.figures import Figures
from dashboard.hub.queries import trends
from dashboard.hub.queries.trends import Filter
from dashboard.web.access import ReadApi
from dashboard.web.pages.common import filters, time_range
from dashboard.web.pages.trends import FILTERS, rows_of
from dashboard.web.parts import parts_of
from dashboard.web.replies import WebError, json_reply

BY = ("model", "agent", "client", "project", "person", "team")
MAX_ROWS = 10_000

router = APIRouter()


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What calls under one name used, as reported. None: no call tells. `suspect` names the sums that hold a figure
    which cannot be right."""

    name: str
    """"" is unknown."""
    calls: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    suspect: tuple[str, ...]


@router.get("/api/usage")
async def usage(request: Request, identity: ReadApi) -> Response:
    """Rows by `by`, most calls first. Query: `since` and `until` (RFC 3339) or `range`, the filters of trends, `format`
    json or csv."""
    hub = parts_of(request).hub
    by = request.query_params.get("by", "model")
    if by not in BY:
        raise WebError(HTTPStatus.BAD_REQUEST, "bad_by", f"by={by[:40]}: expected one of {', '.join(BY)}")
    kind = request.query_params.get("format", "json")
    if kind not in ("json", "csv"):
        raise WebError(HTTPStatus.BAD_REQUEST, "bad_format", f"format={kind[:40]}: expected json or csv")
    span = time_range(request, hub.now_ns() // 10**9, "30d")
    rows = trends.chosen(await rows_of(hub, span, identity.sees), Filter(**filters(request, FILTERS)))
    groups = trends.grouped(rows, by, MAX_ROWS)
    found = [row_of(name, cell.figures) for name, cell in groups.items() if cell.figures.calls]
    if kind == "csv":
        return Response(as_csv(found), media_type="text/csv; charset=utf-8", headers={"cache-control": "no-store"})
    return json_reply({"since_s": span.since_s, "until_s": span.until_s, "by": by, "rows": found})


def row_of(name: str, figures: Figures) -> UsageRow:
    return UsageRow(
        name=name,
        calls=figures.calls,
        input_tokens=figures.input_tokens if figures.input_known else None,
        cached_tokens=figures.cached_tokens if figures.cached_known else None,
        output_tokens=figures.output_tokens if figures.output_known else None,
        reasoning_tokens=figures.reasoning_tokens if figures.output_known else None,
        cost_usd=figures.cost_usd,
        suspect=tuple(name for name in sorted(figures.suspect) if name in UsageRow.__struct_fields__),
    )


def as_csv(rows: list[UsageRow]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(UsageRow.__struct_fields__)
    for row in rows:
        cells = {**msgspec.structs.asdict(row), "suspect": " ".join(row.suspect)}
        writer.writerow([safe_cell(cells[name]) for name in UsageRow.__struct_fields__])
    return out.getvalue().encode()
