"""Who uses what, and agents on one footing, from roll-up cells. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agent_core.telemetry.rollup.figures import Figures
from dashboard.hub.ingest.otlp.emitters import EMITTERS
from dashboard.hub.queries.trends import Row, grouped, part, total
from dashboard.state.comparable import Side, notes
from dashboard.state.compare import Compared, compare

OWN_TTFT = "from the request's sending to the first delta of any kind"
MAX_ROWS = 200
NAMED = 3
"""Names of one cell of a table; further ones are counted."""


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """What one person, or one agent, used. `with_names`: the agents of a person, the people of an agent."""

    name: str
    figures: Figures
    with_names: tuple[str, ...]
    models: tuple[str, ...]
    projects: tuple[str, ...]

    @property
    def origin(self) -> str:
        side = Side(self.name, self.figures)
        if not self.figures.calls:
            return ""
        return "reported" if side.reported else "both" if side.mixed else "measured"


def uses(rows: Iterable[Row], by: str, beside: str) -> list[Use]:
    """By person or client, those with most calls first; what had no call of its own is left out."""
    rows = list(rows)
    found = []
    for name, cell in grouped(rows, by, MAX_ROWS).items():
        mine = [row for row in rows if part(row[1], by) == name]
        if cell.figures.calls:
            found.append(
                Use(
                    name=name,
                    figures=cell.figures,
                    with_names=_names(mine, beside),
                    models=_names(mine, "model"),
                    projects=_names(mine, "project"),
                )
            )
    return found


def side_of(rows: Iterable[Row], by: str, name: str) -> Side:
    mine = [row for row in rows if part(row[1], by) == name]
    definitions = {ttft_of(row[1].client) for row in mine if row[2].figures.calls}
    return Side(name or "unknown", total(mine).figures, next(iter(definitions)) if len(definitions) == 1 else "")


class Footing(msgspec.Struct, frozen=True):
    """A comparison; `notes` by the key of a measure say what is not of one kind."""

    compared: list[Compared]
    notes: dict[str, str]


def footing(rows: Iterable[Row], by: str, a: str, b: str) -> Footing:
    rows = list(rows)
    first, second = side_of(rows, by, a), side_of(rows, by, b)
    return Footing(compare(first.figures, second.figures), notes(first, second))


def ttft_of(client: str) -> str:
    """What the first-token times of a client count from and to, "" if it tells none."""
    known = next((one for one in EMITTERS if one.services and client.startswith(one.services)), None)
    return OWN_TTFT if known is None else known.ttft


def _names(rows: Iterable[Row], split: str) -> tuple[str, ...]:
    calls: dict[str, int] = {}
    for _, dims, cell in rows:
        if cell.figures.calls and (name := part(dims, split)):
            calls[name] = calls.get(name, 0) + cell.figures.calls
    return tuple(sorted(calls, key=lambda name: (-calls[name], name)))
