"""A turn of another agent whose end nobody told: it lapses once nothing is heard of its source, and wakes again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agent_core.clock import rfc3339
from agent_core.telemetry import events as ev
from dashboard.hub.core import Hub
from dashboard.hub.store.records import Cell, TurnQuery
from dashboard.state.silence import GONE_S
from tests.support.hub.stores import batch_of, running_hub
from tests.support.telemetry.scene import HandClock

SOURCE = "import-copilot-0123456789ab"


class SteppedClock(HandClock):
    """Stands until it is moved, and sleeps for real."""

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)


def seen(hub: Hub) -> tuple[str | None, int, int]:
    """The turn's status, and how many calls and turns were counted."""
    (turn,) = hub.store.turns(TurnQuery(team="web", since_us=0, until_us=1 << 60))
    merged = Cell()
    for _, _, cell in hub.store.cells(86_400, 0, 1 << 40, "web"):
        merged.merge(cell)
    return turn.status, merged.figures.calls, merged.figures.turns


async def test_it_lapses_after_ten_minutes_and_an_end_that_comes_later_counts(tmp_path: Path) -> None:
    clock = SteppedClock()

    def stamps(seq: int) -> dict[str, Any]:
        times = {"time": rfc3339(clock.wall_ns()), "mono_ns": clock.wall_ns()}
        return {"v": ev.SCHEMA_VERSION, "source": SOURCE, "session": "s", "turn": "t", "seq": seq, **times}

    async with running_hub(tmp_path, clock) as hub:
        begun = ev.TurnStarted(**stamps(1))
        clock.wait(2_000)
        call = ev.CallReported(
            **stamps(2), call="c", reporter="import:copilot", status="completed", duration_ms=1_000.0, input_tokens=5
        )
        await hub.accept("web", "anna", batch_of([begun, call]))
        clock.wait(1000 * GONE_S - 1)
        hub.watch_silence()
        assert (await hub.roster.member(hub.roster.sources[SOURCE])).state.running == ["t"]
        written = hub.writing.written
        clock.wait(2)
        hub.watch_silence()
        await hub.writing.wait_written(written, 30)
        assert seen(hub) == ("untold", 1, 0)
        end = ev.TurnFinished(**stamps(3), status="completed", duration_ms=2_000.0, stages_ms={}, calls=0, tools=0)
        await hub.accept("web", "anna", batch_of([end]))
        assert seen(hub) == ("completed", 1, 1)
