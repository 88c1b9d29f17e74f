"""An agent whose sessions are exported and imported counts once, whichever came first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.events import Event
from dashboard.hub.core import Hub
from dashboard.hub.reporting import Reporting
from dashboard.hub.store.records import Cell
from tests.support.hub.otlp import T0_NS, give, span, traces
from tests.support.hub.stores import batch_of, running_hub

SOURCE = "import-copilot-0123456789ab"
TIME = "2026-12-01T11:06:59.564000Z"


def exported(session: str, first: int = 1) -> list[tuple[Any, Any]]:
    """One call of 100 and 10 tokens."""
    told: dict[str, Any] = {
        "gen_ai__operation__name": "chat", "gen_ai__request__model": "m", "gen_ai__conversation__id": session,
        "gen_ai__usage__input_tokens": 100, "gen_ai__usage__output_tokens": 10,
    }  # fmt: skip
    return [(traces([span(first, first, 0, 0, 5, "chat m", **told)]), "traces")]


def imported(session: str, *numbers: int) -> list[Event]:
    """The same figures, as the log on the disk has them."""
    stamps: dict[str, Any] = {"v": ev.SCHEMA_VERSION, "source": SOURCE, "time": TIME, "session": session}
    return [
        ev.CallReported(
            **stamps, seq=number, mono_ns=T0_NS + number, call=f"c{number}", reporter="import:copilot",
            status="completed", model="m", input_tokens=100, output_tokens=10,
        )
        for number in numbers
    ]  # fmt: skip


def counted(hub: Hub) -> tuple[int, int]:
    merged = Cell()
    for _, _, cell in hub.store.cells(86_400, 0, 1 << 40, "web"):
        merged.merge(cell)
    return merged.figures.calls, merged.figures.input_tokens


@pytest.mark.parametrize("exporter_first", [True, False])
async def test_the_way_that_came_first_counts(tmp_path: Path, exporter_first: bool) -> None:
    async with running_hub(tmp_path) as hub:
        reporting = Reporting(hub)
        if exporter_first:
            await give(hub, reporting, exported("one"))
            await hub.accept("web", "anna@ci", batch_of(imported("one", 1)))
        else:
            await hub.accept("web", "anna@ci", batch_of(imported("one", 1)))
            await give(hub, reporting, exported("one"))
        assert counted(hub) == (1, 100)
    async with running_hub(tmp_path) as hub:  # it is known after a restart too, and other sessions count
        await hub.accept("web", "anna@ci", batch_of([*imported("one", 2), *imported("two", 3)]))
        await give(hub, Reporting(hub), [*exported("one", 2), *exported("three", 3)])
        assert counted(hub) == (4, 400)
        await hub.accept("web", "anna@ci", batch_of(imported("two", 4)))
        assert counted(hub) == (5, 500)


async def test_nobody_takes_the_figures_of_another_one(tmp_path: Path) -> None:
    """Who names another one's session first keeps nothing of it from being counted."""
    async with running_hub(tmp_path) as hub:
        await give(hub, Reporting(hub), exported("one"), agent="eve@ci")
        await hub.accept("web", "anna@ci", batch_of(imported("one", 1)))
        assert counted(hub) == (2, 200)
