"""Every figure of the table, the summary and the export against a count of captured frames, over runs with faults.

The counting side sees only what the service saw on its sockets; the telemetry side only what the client told.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from agent_core.model.port import CallResult
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.export.files import export
from agent_core.telemetry.journal.reader import read_ndjson
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.summary import Summary
from tests.support.model import events as make
from tests.support.model.faults import FaultyService, Rollout
from tests.support.model.scripted_service import Create, Json, Refuse, ScriptedService, running
from tests.support.model.session import Talk, talking

CALLS = 14
SOURCE = "h000000-1-aaaaaa"


def usage_of(call: int) -> Json:
    """What the service bills for the call with this many tool outputs before it: some calls report no cached tokens."""
    usage: Json = {"input_tokens": 100 + 37 * call, "output_tokens": 5 + call, "total_tokens": 105 + 38 * call}
    if call % 3:
        usage["input_tokens_details"] = {"cached_tokens": 80 + 11 * call, "cache_write_tokens": call}
    return usage


class Billing(Rollout):
    """Answers as `Rollout` does, each call with a usage of its own."""

    def answer(self, items: list[Json]) -> list[Json]:
        events = super().answer(items)
        done = sum(item.get("type") == "function_call_output" for item in items)
        events[-1]["response"]["usage"] = usage_of(done)
        return events


class Counted:
    """What the service saw of one call: its creates, and the answer that ended it."""

    def __init__(self, call: int, creates: list[Create], result: CallResult) -> None:
        usage = usage_of(call)
        details = usage.get("input_tokens_details", {})
        items = [json.loads(raw) for raw in result.items]
        ladder = make.ladder(result.response_id, *items)
        self.creates = creates
        self.figures: dict[str, Any] = {
            "number": call + 1,
            "attempts": len(creates),
            "bytes_up": sum(create.size for create in creates),
            "input_items": len(creates[-1].input),
            "input_tokens": usage["input_tokens"],
            "cached_tokens": details.get("cached_tokens"),
            "cache_write_tokens": details.get("cache_write_tokens"),
            "output_tokens": usage["output_tokens"],
            "deltas": sum(event["type"].endswith(".delta") for event in ladder),
            "response_id": result.response_id,
            "status": "completed",
            "warmup": False,
            "ttft_ms": result.timing.ttft_ms,
        }
        self.chained = creates[-1].previous is not None


async def rollout(talk: Talk, service: ScriptedService) -> list[Counted]:
    counted: list[Counted] = []
    talk.say(make.user("fix it"))
    seen: tuple[int, int] = (0, 0)
    for call in range(CALLS):
        result = await talk.call()
        creates = [*service.creates[seen[0] :], *service.posts[seen[1] :]]
        seen = len(service.creates), len(service.posts)
        counted.append(Counted(call, creates, result))
        calls = [item for raw in result.items if (item := json.loads(raw))["type"] == "function_call"]
        talk.say(*(make.tool_output(item["call_id"], item["arguments"]) for item in calls))
    return counted


def known(values: list[int | None]) -> int | None:
    reported = [value for value in values if value is not None]
    return sum(reported) if reported else None


def expected_summary(counted: list[Counted], connections: int) -> Summary:
    creates = [create for call in counted for create in call.creates]
    ttfts = [call.figures["ttft_ms"] for call in counted]
    chained = sum(create.previous is not None for create in creates)
    return Summary(
        calls=len(counted),
        connections=connections,
        reused_calls=chained,
        full_resends=len(creates) - chained - 1,
        bytes_up=sum(create.size for create in creates),
        ttft_ms_p50=statistics.median(ttfts),
        cached_tokens=known([call.figures["cached_tokens"] for call in counted]),
        input_tokens=known([call.figures["input_tokens"] for call in counted]),
        output_tokens=known([call.figures["output_tokens"] for call in counted]),
        reasoning_tokens=0,
    )


async def run_and_compare(seed: int, state_dir: Path) -> int:
    """One run over the faults of `seed`; how many were injected."""
    first = [Refuse(426)] if seed % 5 == 0 else []
    service = FaultyService(seed, CALLS, odds=0.3)
    service._rollout = Billing(CALLS)
    journal = JournalSink(state_dir, SOURCE)
    try:
        async with (
            running(*first, then=service.socket, then_post=service.post) as scripted,
            talking(scripted.base_url, silence_limit_s=0.5, websocket_again_after_s=0.5, reconnect_limit=8) as talk,
        ):
            counted = await rollout(talk, scripted)
            connections = scripted.connections - len(first)  # refused upgrades made none
            told = talk.sink.events
        emitter = Emitter(journal, talk.clock, SOURCE)
        for event in told:
            emitter.emit(event)
    finally:
        journal.close(10)

    rollup = Rollup().fold_all(told)
    rows = rollup.call_rows()
    shown = [{name: getattr(row, name) for name in call.figures} for row, call in zip(rows, counted, strict=True)]
    assert shown == [call.figures for call in counted]
    assert [row.reuse == "reused" for row in rows] == [call.chained for call in counted]
    assert rollup.summary() == expected_summary(counted, connections)
    compare_exports(state_dir, told, counted)
    return service.faults.total()


def compare_exports(state_dir: Path, told: list[ev.Event], counted: list[Counted]) -> None:
    lines, table = io.BytesIO(), io.BytesIO()
    now_ns = 4_000_000_000_000_000_000
    assert export(state_dir, lines, format="ndjson", now_ns=now_ns).events == len(told)
    assert export(state_dir, table, format="csv", now_ns=now_ns).events == len(told)
    path = state_dir / "export.ndjson"
    path.write_bytes(lines.getvalue())
    again = Rollup().fold_all(read_ndjson(path))
    names = list(counted[0].figures)
    assert [[getattr(row, name) for name in names] for row in again.call_rows()] == [
        [call.figures[name] for name in names] for call in counted
    ]
    rows = list(csv.DictReader(io.StringIO(table.getvalue().decode())))
    sent = [row for row in rows if row["type"] == "call.sent"]
    ended = [row for row in rows if row["type"] == "call.completed"]
    creates = [create for call in counted for create in call.creates]
    assert sorted(int(row["bytes_up"]) for row in sent) == sorted(create.size for create in creates)
    assert sum(row["reuse"] == "reused" for row in sent) == sum(create.previous is not None for create in creates)
    assert [row["input_tokens"] for row in ended] == [str(call.figures["input_tokens"]) for call in counted]
    cached = ["" if (value := call.figures["cached_tokens"]) is None else str(value) for call in counted]
    assert [row["cached_tokens"] for row in ended] == cached


@pytest.mark.parametrize("seed", range(8))
async def test_no_figure_differs(seed: int, tmp_path: Path) -> None:
    assert await run_and_compare(seed, tmp_path) > 0


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_no_figure_differs_in_two_hundred_runs(tmp_path: Path) -> None:
    faults = 0
    for seed in range(200):
        faults += await run_and_compare(seed, tmp_path / str(seed))
    print(f"200 runs of {CALLS} calls, {faults} faults: 0 mismatches")
