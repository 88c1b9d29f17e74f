"""One flat row per event, for tables (CSV, Parquet): which columns there are, and an event's values. Pure.

All fields of all event types are columns, in a fixed order. Fields that hold named durations become one column per
known name, `stages_ms.inference`; names that this version does not know come together as JSON in a last column,
`stages_ms`. A last column, `suspect`, names the figures of an event that cannot be right, with blanks between.
"""

from __future__ import annotations

import types
import typing
from typing import Literal, get_args, get_origin

import msgspec

from agent_core.telemetry.events import AnyEvent, Content, Event
from agent_core.telemetry.rollup.stages import STAGES
from agent_core.telemetry.rollup.suspect import suspect_of

SERVICE_STAGES = (
    "admission", "state", "validate", "screen", "route", "render", "queue", "engine_ttft", "engine", "settle",
)  # fmt: skip
"""Stages of a call in the service (`service.call`)."""
_SPREAD = {"stages_ms": (*STAGES, *SERVICE_STAGES), "service_stages_ms": SERVICE_STAGES}

Kind = Literal["integer", "number", "boolean", "text"]
Cell = int | float | bool | str | None


def columns() -> dict[str, Kind]:
    """Column names in order, and what they hold."""
    found: dict[str, Kind] = {"type": "text"}
    for event in (Event, *(kind for kind in AnyEvent.__args__ if kind is not Content)):
        for name, annotation in typing.get_type_hints(event).items():
            for part in _SPREAD.get(name, ()):
                found[f"{name}.{part}"] = "number"
            found.setdefault(name, _kind(annotation))
    found["suspect"] = "text"
    return found


def row(event: Event) -> dict[str, Cell]:
    """The event's values by column; what it does not know is left out."""
    cells: dict[str, Cell] = {}
    for name, value in msgspec.to_builtins(event).items():
        if isinstance(value, dict):
            known = _SPREAD.get(name, ())
            cells |= {f"{name}.{part}": value[part] for part in known if part in value}
            rest = {part: amount for part, amount in value.items() if part not in known}
            if rest:
                cells[name] = msgspec.json.encode(rest).decode()
        else:
            cells[name] = value
    if suspect := suspect_of(event):
        cells["suspect"] = " ".join(suspect)
    return cells


def _kind(annotation: object) -> Kind:
    options = set(get_args(annotation)) - {types.NoneType} if _is_union(annotation) else {annotation}
    if options == {bool}:
        return "boolean"
    if options == {int}:
        return "integer"
    return "number" if options == {float} else "text"


def _is_union(annotation: object) -> bool:
    return get_origin(annotation) in (typing.Union, types.UnionType)
