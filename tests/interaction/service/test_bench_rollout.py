"""The benchmark's five ways through a rollout, against the service that they measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.bench.rollout_ways import WAYS, Measured, Plan, measure
from agent_core.bench.serving import KEY
from agent_core.responses_server.settings import ApiKey
from tests.support.service.running import running_service

PLAN = Plan(calls=4, tokens=5, history_bytes=20_000, history_items=5)


@pytest.mark.rule("bench.true")
async def test_each_way_plays_the_whole_rollout(tmp_path: Path) -> None:
    file = tmp_path / "rollout.json"
    file.write_bytes(PLAN.rollout(0))
    found: dict[str, Measured] = {}
    with running_service(rollout_file=file, enable_rollout=True, api_keys=(ApiKey("bench", KEY),)) as running:
        port = int(running.url.rpartition(":")[2])
        for way in WAYS:
            found[way] = await measure(way, port, PLAN)
    for way, measured in found.items():
        assert len(measured.first_ms) == PLAN.calls, way
        assert all(0 < first < measured.seconds * 1000 for first in measured.first_ms), way
        assert measured.own_ms, way
    assert found["new"].bytes_up == found["kept"].bytes_up > 4 * PLAN.history_bytes
    assert found["rollout"].bytes_up < found["stored"].bytes_up < 2.5 * PLAN.history_bytes


@pytest.mark.rule("bench.true")
async def test_a_rollout_that_breaks_is_no_measurement(tmp_path: Path) -> None:
    file = tmp_path / "rollout.json"
    file.write_bytes(Plan(calls=2, tokens=5).rollout(0))
    with running_service(rollout_file=file, enable_rollout=True, api_keys=(ApiKey("bench", KEY),)) as running:
        port = int(running.url.rpartition(":")[2])
        for way in ("kept", "deltas"):
            with pytest.raises(RuntimeError):
                await measure(way, port, PLAN)
        with pytest.raises((ConnectionError, RuntimeError)):
            await measure("deltas", 9, PLAN)
