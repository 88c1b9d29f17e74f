"""Many agents and many browsers at once: nothing lost, nothing doubled, bounded memory, and how long it takes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import httpx
import pytest

from dashboard.bench.crowd import Result, run_load
from tests.support.web.running import WebProcess, web_process


async def reconciled(web: WebProcess, folder: Path, result: Result) -> None:
    """What the hub kept is what the agents sent."""
    assert len(result.acked) == result.agents
    headers = {"authorization": f"Bearer {web.ready['secret']}"}
    async with httpx.AsyncClient(base_url=web.url, headers=headers, timeout=60, trust_env=False) as client:
        health = (await client.get("/api/health")).json()
        assert health["events"] == result.events
        assert (health["repeated"], health["unfit"], health["waiting_events"]) == (0, 0, 0)
        assert health["slow_closed"] == 0
        trends = (await client.get("/api/trends?range=6h")).json()["charts"]
        [calls] = [chart for chart in trends if chart["key"] == "calls"]
        assert sum(point["values"][0] or 0 for point in calls["points"]) == result.calls
    assert await web.stop() == 0
    kept: dict[str, tuple[int, int]] = {}
    for path in (folder / "loopline" / "hub" / "days").glob("*.db"):
        db = sqlite3.connect(path)
        for source, count, last in db.execute("SELECT source, count(*), max(seq) FROM event GROUP BY source"):
            before = kept.get(source, (0, 0))
            kept[source] = (before[0] + count, max(before[1], last))
        db.close()
    assert {source: last for source, (_, last) in kept.items()} == result.acked
    assert {source: count for source, (count, _) in kept.items()} == result.acked


async def load(folder: Path, *, agents: int, streams: int, seconds: float) -> Result:
    async with web_process(folder) as web:
        result = await run_load(
            web.url, web.ready["ingest_token"], web.ready["secret"], web.ready["pid"],
            agents=agents, streams=streams, seconds=seconds,
        )  # fmt: skip
        print(result.line)
        await reconciled(web, folder, result)
    return result


async def test_two_hundred_agents_and_ten_streams(tmp_path: Path) -> None:
    result = await load(tmp_path, agents=200, streams=10, seconds=15)
    assert result.refused == 0
    assert result.events >= 200 * 2 * 13
    assert result.rss_mb < 400
    assert result.lags > 0
    assert result.lag_p50_ms < 2_000


@pytest.mark.soak
@pytest.mark.timeout(400)
async def test_a_thousand_agents_and_fifty_streams_for_two_minutes(tmp_path: Path) -> None:
    result = await load(tmp_path, agents=1_000, streams=50, seconds=120)
    assert result.events >= 1_000 * 2 * 110
    assert result.rss_mb < 800
    assert result.ingest_p99_ms < 5_000
    assert result.lag_p50_ms < 2_000
