"""A turn: its stages, its waterfall on a true time axis, calls, connection, cost; side by side with another."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from agent_core.telemetry import display as fmt
from agent_core.telemetry.rollup.rows import TurnRow
from dashboard.hub.core import Hub
from dashboard.hub.live.rows import LiveRow, row_of
from dashboard.hub.queries.history import TurnView, is_gone, line_of_record, view_turn
from dashboard.hub.store.records import DAY_US, TurnQuery
from dashboard.state.compare import Compared, compare, figures_of_turn
from dashboard.state.waterfall import waterfall
from dashboard.web.access import ReadApi, ReadPage
from dashboard.web.drawing import call_note, connection_events, draw, stack, ticks
from dashboard.web.pages.common import page
from dashboard.web.parts import parts_of
from dashboard.web.replies import WebError, json_reply

MAX_BARS = 400
OTHERS = 30
"""Turns offered to compare with."""
router = APIRouter()


@router.get("/turns/{turn:path}")
async def turn(request: Request, turn: str, identity: ReadPage) -> Response:
    parts = parts_of(request)
    view = await _view(parts.hub, turn, identity.sees)
    now_ns = parts.hub.now_ns()
    fall = waterfall(view.state.rollup, turn, now_ns, limit=MAX_BARS)
    other = request.query_params.get("with", "")[:256]
    compared = await _compared(parts.hub, view, other, identity.sees) if other else None
    line = view.state.turn_line(turn, now_ns)
    if fall is None or line is None:
        raise _unknown()
    return page(
        request, "turn.html", identity, view=view, line=line, fall=fall, lines=[draw(bar, fall) for bar in fall.bars],
        ticks=ticks(fall.span_ns / 1e6), stack=stack(fall), calls=view.state.calls_of(turn),
        elsewhere=_elsewhere(view.state.rollup.turns[turn]),
        connections=connection_events(view.state, turn, fall),
        savings=view.state.savings.of_calls(view.state.rollup.turns[turn].calls),
        other=other, compared=compared, others=await _others(parts.hub, view, identity.sees),
        call_note=call_note,
    )  # fmt: skip


def _elsewhere(row: TurnRow) -> list[str]:
    """What besides calls was reported with figures that cannot be right: `edit: duration -5.0 ms`."""
    told = [
        f"{tool.name}: {fmt.figure_names(tool.suspect)} ({fmt.duration(tool.duration_ms)})"
        for tool in row.tools
        if tool.suspect
    ]
    waits = [one for one in row.approvals if one.suspect]
    told += [f"approval: {fmt.figure_names(one.suspect)} ({fmt.duration(one.waited_ms)})" for one in waits]
    return told + ([f"end of the turn: {fmt.figure_names(row.suspect)}"] if row.suspect else [])


@router.get("/api/turns")
async def turns_as_data(request: Request, identity: ReadApi) -> Response:
    """The latest turns of the last 30 days that are kept."""
    hub = parts_of(request).hub
    now_us = hub.now_us()
    query = TurnQuery(team=identity.sees, since_us=now_us - 30 * DAY_US, until_us=now_us + DAY_US, limit=200)
    rows = []
    for record in await hub.ask(hub.store.turns, query):
        line = line_of_record(record)
        if line is not None and line.status is None and is_gone(hub, record):
            line = msgspec.structs.replace(line, status="interrupted", stage=None)
        if line is not None:
            rows.append(row_of(line, record.team, record.agent, None))
    return json_reply({"turns": rows})


@router.get("/api/turns/{turn:path}")
async def turn_as_data(request: Request, turn: str, identity: ReadApi) -> Response:
    hub = parts_of(request).hub
    view = await _view(hub, turn, identity.sees)
    line = view.state.turn_line(turn, hub.now_ns())
    if line is None:
        raise _unknown()
    told = msgspec.to_builtins(line)
    if line.silent_s is None:
        del told["silent_s"]
    return json_reply(
        {
            "team": view.team,
            "agent": view.agent,
            "turn": told,
            "stages_ms": view.state.stages_ms(turn, hub.now_ns()),
            "calls": view.state.calls_of(turn),
            "tools": view.state.rollup.turns[turn].tools,
            "approvals": view.state.rollup.turns[turn].approvals,
        }
    )


async def _view(hub: Hub, turn: str, team: str | None) -> TurnView:
    view = await view_turn(hub, turn, team)
    if view is None:
        raise _unknown()
    return view


async def _compared(hub: Hub, view: TurnView, other: str, team: str | None) -> list[Compared] | None:
    found = await view_turn(hub, other, team)
    if found is None:
        return None
    return compare(figures_of_turn(view.state.rollup, view.turn), figures_of_turn(found.state.rollup, other))


async def _others(hub: Hub, view: TurnView, team: str | None) -> list[LiveRow]:
    """Turns to compare with: the latest that ended."""
    now_us = hub.now_us()
    query = TurnQuery(team=team, since_us=now_us - 30 * DAY_US, until_us=now_us + DAY_US, limit=4 * OTHERS)
    records = [
        record
        for record in await hub.ask(hub.store.turns, query)
        if record.turn != view.turn and record.status != "running"
    ]
    lines = [(record, line) for record in records if (line := line_of_record(record)) is not None]
    return [row_of(line, record.team, record.agent, None) for record, line in lines[:OTHERS]]


def _unknown() -> WebError:
    message = "There is no such turn here, or its day is no longer kept."
    return WebError(HTTPStatus.NOT_FOUND, "no_such_turn", message)
