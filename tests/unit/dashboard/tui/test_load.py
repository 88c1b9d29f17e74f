"""Thousands of events a second, and a week of history: bounded memory, a loop that answers, a quick start.

`make soak` runs the whole; a sample of each runs with the other tests. CPU time of the loop's own thread is asserted,
since wall time also measures what else the machine does; both are printed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dashboard.bench.terminal_load import Idle, Load, Opening, measure_apart
from tests.support.terminal.history import days_ending, write_day

RATE = 5_000
MAX_LAG_MS = 100.0
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def check(load: Load, *, growth_mb: float) -> None:
    assert load.events >= load.emitted
    assert load.own_lag_ms < MAX_LAG_MS, load
    assert load.rss_growth_mb < growth_mb, load
    assert load.widgets < 30, "as many as at the start"


async def openings(folder: Path, calls_a_day: int, days: int) -> tuple[Opening, Opening]:
    """Of a folder with one day, and of one with that day and those before it."""
    one, many = folder / "one", folder / "many"
    midnights = days_ending(NOON, days)
    events = write_day(one, midnights[0], calls_a_day)
    for midnight in midnights:
        write_day(many, midnight, calls_a_day)
    since = f"{midnights[0]:%Y-%m-%d}"
    return (
        await measure_apart(Opening, "opening", one, since=since, events=events),
        await measure_apart(Opening, "opening", many, since=since, events=events),
    )


async def test_a_sample_of_five_thousand_events_a_second(tmp_path: Path) -> None:
    load = await measure_apart(Load, "under_load", tmp_path, rate=RATE, seconds=3)
    assert load.emitted > 10_000
    check(load, growth_mb=60)


async def test_a_sample_of_a_week_opens_as_a_day_does(tmp_path: Path) -> None:
    day, week = await openings(tmp_path, 1_500, 7)
    assert week.cpu_s < day.cpu_s * 1.5 + 0.5


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_a_minute_of_five_thousand_events_a_second(tmp_path: Path) -> None:
    idle = await measure_apart(Idle, "idle", tmp_path, seconds=5)
    load = await measure_apart(Load, "under_load", tmp_path, rate=RATE, seconds=60)
    check(load, growth_mb=30)
    assert load.cpu_share < 0.6
    print(
        f"tui: {load.emitted:,} events in 60 s: loop busy at most {load.own_lag_ms:.0f} ms (p99 "
        f"{load.own_lag_p99_ms:.0f}; wall {load.wall_lag_ms:.0f}), CPU {load.cpu_share:.0%} of a core against "
        f"{idle.cpu_share:.1%} idle, memory +{load.rss_growth_mb:.0f} MB in the second half, {load.widgets} widgets"
    )


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_a_week_of_a_million_calls_opens_as_a_day_does(tmp_path: Path) -> None:
    day, week = await openings(tmp_path, 143_000, 7)
    assert week.cpu_s < day.cpu_s * 1.15, (day, week)
    assert week.first_s < 5.0, "something is on screen long before all of it is read"
    print(
        f"tui: a week of a million calls opens in {week.all_s:.1f} s ({week.cpu_s:.1f} s of CPU), its last day alone "
        f"in {day.all_s:.1f} s ({day.cpu_s:.1f}); the first picture is there after {week.first_s:.1f} s"
    )
