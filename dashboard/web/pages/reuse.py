"""Reuse: what open connections saved against sending everything each time. Computed, and marked so."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dashboard.hub.queries import trends
from dashboard.hub.queries.trends import Filter, Row
from dashboard.hub.store.records import Cell
from dashboard.state import format as fmt
from dashboard.web.access import ReadApi, ReadPage
from dashboard.web.pages.common import RANGES, filters, page, time_range
from dashboard.web.pages.trends import FILTERS, rows_of
from dashboard.web.parts import parts_of
from dashboard.web.replies import json_reply

router = APIRouter()


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What a group of calls saved. Texts; "–" is unknown."""

    client: str
    model: str
    calls: str
    reused: str
    bytes_up: str
    bytes_full: str
    bytes_saved: str
    bytes_share: str
    tokens_kept: str
    tokens_share: str
    time_saved: str


class Outcome(msgspec.Struct, frozen=True):
    name: str
    word: str
    calls: int
    share: str
    x: float
    width: float


@router.get("/reuse")
async def reuse_page(request: Request, identity: ReadPage) -> Response:
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9, "7d")
    everything = await rows_of(hub, span, identity.sees)
    asked = filters(request, FILTERS)
    rows = trends.chosen(everything, Filter(**asked))
    return page(
        request, "reuse.html", identity, span=span, ranges=RANGES, asked=asked, names=trends.names(everything),
        total=saved_of("", "", rows), groups=groups_of(rows), outcomes=outcomes(trends.total(rows)),
        suspect=dict(trends.total(rows).figures.suspect),
    )  # fmt: skip


@router.get("/api/reuse")
async def reuse_as_data(request: Request, identity: ReadApi) -> Response:
    hub = parts_of(request).hub
    span = time_range(request, hub.now_ns() // 10**9, "7d")
    rows = trends.chosen(await rows_of(hub, span, identity.sees), Filter(**filters(request, FILTERS)))
    cell = trends.total(rows)
    return json_reply(
        {
            "computed": True,
            "savings": cell.savings,
            "bytes_saved": cell.savings.bytes_saved,
            "time_saved_ms": trends.time_saved_ms(rows),
            "outcomes": cell.figures.reuse,
        }
    )


def groups_of(rows: list[Row]) -> list[Saved]:
    """By client and model, those with most calls first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row[1].reuse:
            groups.setdefault((row[1].client, row[1].model), []).append(row)
    ordered = sorted(groups.items(), key=_calls, reverse=True)
    return [saved_of(client, model, some) for (client, model), some in ordered[:100]]


def saved_of(client: str, model: str, rows: list[Row]) -> Saved:
    cell = trends.total(rows)
    savings = cell.savings
    known = savings.bytes_saved is not None
    return Saved(
        client=fmt.one_line(client, 60) or "unknown",
        model=fmt.one_line(model, 80) or "unknown",
        calls=fmt.number(sum(cell.figures.reuse.values())),
        reused=fmt.percent(cell.figures.reused_share),
        bytes_up=fmt.size(savings.bytes_up if savings.calls else None),
        bytes_full=fmt.size(savings.bytes_full if known else None),
        bytes_saved=fmt.size(savings.bytes_saved),
        bytes_share=fmt.percent(savings.bytes_share),
        tokens_kept=fmt.short_number(savings.tokens_kept if savings.tokens_in else None),
        tokens_share=fmt.percent(savings.tokens_share),
        time_saved=fmt.duration(trends.time_saved_ms(rows)),
    )


def outcomes(cell: Cell) -> list[Outcome]:
    """What became of the chains, as one horizontal stack."""
    counts, found, x = cell.figures.reuse, [], 0.0
    whole = sum(counts.values())
    for name, word in fmt.REUSE_WORDS.items():
        if counts[name] > 0:
            width = counts[name] * 100 / whole
            found.append(Outcome(name, word, counts[name], fmt.percent(counts[name] / whole), x, width))
            x += width
    return found


def _calls(item: tuple[tuple[str, str], list[Row]]) -> int:
    return sum(cell.figures.calls for _, _, cell in item[1])
