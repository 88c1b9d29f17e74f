"""What a team's Responses services told of a time: responses by key and model, and which of them an agent tells of.

A response is known by its id to the service and to the agent that asked for it, so both tell of one thing; here the
service's record counts, and the agent's says who it was. Pure: events are handed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice

import msgspec

from agent_core.telemetry.events import CallCompleted, CallReported, Event, ServiceCall
from agent_core.telemetry.rollup.sketch import Sketch
from dashboard.hub.people.auth import LOCAL_TEAM
from dashboard.state.believed import NOBODY, Teller

MAX_EVENTS = 400_000
"""Read for one answer; `cut` says when there were more."""
MAX_ROWS = 200
STAGES = ("admission", "state", "validate", "screen", "route", "render", "queue", "engine_ttft", "engine", "settle")


class ServiceRow(msgspec.Struct, kw_only=True):
    """Responses of one key to one model. Token sums are over those that tell them. `told`: an agent tells of them too.

    `duration` and `stages` sample ms."""

    key: str
    model: str
    responses: int = 0
    failed: int = 0
    """Responses with the status failed."""
    told: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    transports: Counter[str] = msgspec.field(default_factory=Counter)
    duration: Sketch = msgspec.field(default_factory=Sketch)
    stages: dict[str, Sketch] = msgspec.field(default_factory=dict)


class ServiceView(msgspec.Struct, frozen=True):
    rows: list[ServiceRow]
    errors: dict[str, int]
    cut: bool


def service_view(events: Iterable[Event], tellers: Mapping[str, Teller]) -> ServiceView:
    """Rows by key and model, those with most responses first. Services of the team are believed, and this machine."""
    answered: dict[str, ServiceCall] = {}
    told: set[str] = set()
    read = 0
    for event in islice(events, MAX_EVENTS):
        read += 1
        if isinstance(event, ServiceCall):
            who = tellers.get(event.source, NOBODY)
            if event.key is None or not (who.service or who.team == LOCAL_TEAM):
                continue
            answered[event.response_id] = event
        elif isinstance(event, CallCompleted | CallReported) and event.response_id is not None:
            told.add(event.response_id)
    rows: dict[tuple[str, str], ServiceRow] = {}
    errors: Counter[str] = Counter()
    for response, event in answered.items():
        name = (event.key or "", event.model or "")
        row = rows.get(name)
        if row is None:
            row = rows[name] = ServiceRow(key=name[0], model=name[1])
        _add(row, event, response in told)
        if event.error_code:
            errors[event.error_code] += 1
    ordered = sorted(rows.values(), key=_by_responses)[:MAX_ROWS]
    return ServiceView(ordered, dict(errors.most_common(20)), read >= MAX_EVENTS)


def _add(row: ServiceRow, event: ServiceCall, told: bool) -> None:
    row.responses += 1
    row.failed += event.status == "failed"
    row.told += told
    row.input_tokens += event.input_tokens or 0
    row.cached_tokens += event.cached_tokens or 0
    row.output_tokens += event.output_tokens or 0
    row.reasoning_tokens += event.reasoning_tokens or 0
    row.transports[event.transport or ""] += 1
    if event.duration_ms is not None:
        row.duration.add(event.duration_ms)
    for stage in STAGES:
        if stage in event.stages_ms:
            row.stages.setdefault(stage, Sketch()).add(event.stages_ms[stage])


def _by_responses(row: ServiceRow) -> tuple[int, str, str]:
    return -row.responses, row.key, row.model
