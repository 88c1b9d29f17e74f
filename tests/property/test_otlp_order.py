"""Reports of other agents count once: in any order, split into any bodies, told any number of times."""

from __future__ import annotations

import asyncio
import random
import resource
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.telemetry.rollup.figures import Figures
from dashboard.hub.core import Hub
from dashboard.hub.ingest.otlp.records import Signal
from dashboard.hub.reporting import Reporting
from dashboard.hub.sources.state import MAX_OPEN_TURNS, MAX_TURNS
from dashboard.hub.store.records import Cell, TurnQuery
from tests.support.hub.otlp import export_body, give, signal_of, traces, turn_spans
from tests.support.hub.stores import running_hub

NAMES = ("codex-0.171-logs.json", "codex-0.171-traces.json", "copilot-1.0.102-traces.json", "made-claude-logs.json")


def picture(hub: Hub) -> dict[str, Any]:
    """All that was counted, by what it is about; and the turns with their calls."""
    cells: dict[str, Cell] = {}
    for bucket, dims, cell in hub.store.cells(60, 0, 1 << 40, "web"):
        cells.setdefault(f"{bucket} {dims}", Cell()).merge(cell)
    turns = hub.store.turns(TurnQuery(team=None, since_us=0, until_us=1 << 60, limit=100_000))
    return {
        "cells": {key: plain for key, cell in cells.items() if (plain := _plain(cell.figures))},
        "turns": sorted(
            (turn.turn, turn.status, turn.session, _line(turn.body) if turn.ended_us is not None else ())
            for turn in turns
        ),
    }


def _plain(figures: Figures) -> dict[str, Any]:
    """What is not nothing: what was added and taken out again leaves zeros."""
    counts = {name: getattr(figures, name) for name in Figures.COUNTS}
    for name in ("statuses", "turn_statuses", "reuse", "errors", "suspect", "stages_ns"):
        counts |= {f"{name}.{key}": count for key, count in getattr(figures, name).items()}
    samples = {name: [pair for pair in sketch.values() if pair[1]] for name, sketch in figures.sketches.items()}
    return {name: value for name, value in {**counts, **samples}.items() if value}


def _line(body: bytes) -> tuple[Any, ...]:
    line = msgspec.json.decode(body)
    return tuple(line[name] for name in ("calls", "input_tokens", "cached_tokens", "output_tokens", "duration_ms"))


async def folded(bodies: Sequence[tuple[Any, Signal]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        async with running_hub(Path(folder)) as hub:
            await give(hub, Reporting(hub), bodies)
            return picture(hub)


SPANS = [span for trace in range(1, 7) for span in turn_spans(trace, 3)]
_whole: list[dict[str, Any]] = []


def whole() -> dict[str, Any]:
    if not _whole:
        _whole.append(asyncio.run(folded([(traces(SPANS), "traces")])))
    return _whole[0]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_order_any_split_any_repetition_is_one_fold(data: st.DataObject) -> None:
    repeated = data.draw(st.lists(st.sampled_from(SPANS), max_size=12))
    spans = data.draw(st.permutations([*SPANS, *repeated]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(spans)), max_size=6)))
    bodies = [spans[start:end] for start, end in zip([0, *cuts], [*cuts, len(spans)], strict=True)]
    assert asyncio.run(folded([(traces(body), "traces") for body in bodies if body])) == whole()


def test_the_whole_is_what_was_exported() -> None:
    turns = whole()["turns"]
    assert [(status, line[0]) for _, status, _, line in turns] == [("completed", 3)] * 6


@pytest.mark.parametrize("seed", range(6))
async def test_exports_of_real_agents_split_and_told_twice_count_once(seed: int) -> None:
    """In the order in which they export, which is what tells Codex's calls to a turn."""
    draw = random.Random(seed)
    bodies: list[tuple[Any, Signal]] = []
    for name in NAMES:
        parts = _split(export_body(name), draw)
        bodies += [(part, signal_of(name)) for part in parts for _ in range(draw.choice((1, 1, 2)))]
    expected = await folded([(export_body(name), signal_of(name)) for name in NAMES])
    assert await folded(bodies) == expected
    assert len(expected["turns"]) == 3


def _split(body: Any, draw: random.Random) -> list[Any]:
    """Its records in several bodies with the same resource."""
    (outer,) = body
    group = body[outer][0]
    scope = next(key for key in group if key.startswith("scope"))
    records = [(key, one) for part in group[scope] for key in part if isinstance(part[key], list) for one in part[key]]
    parts, start = [], 0
    while start < len(records):
        end = start + draw.randint(1, 4)
        some = records[start:end]
        parts.append({outer: [{"resource": group["resource"], scope: [{some[0][0]: [one for _, one in some]}]}]})
        start = end
    return parts


async def _shuffled(folder: Path, count: int, seed: int) -> None:
    """`count` spans of as many processes as hold them, in no order at all."""
    exporters, per_turn, calls = 20, 20, 10
    turns = count // (exporters * per_turn)
    draw = random.Random(seed)
    pairs = [
        (exporter, span)
        for exporter in range(exporters)
        for trace in range(turns)
        for span in turn_spans(1 + exporter * turns + trace, calls, seed)
    ]
    assert len(pairs) == count
    draw.shuffle(pairs)
    async with running_hub(folder) as hub:
        reporting, before_kb = Reporting(hub), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, count, 4_000):
            bodies: dict[int, list[Any]] = {}
            for exporter, span in pairs[start : start + 4_000]:
                bodies.setdefault(exporter, []).append(span)
            for exporter, spans in bodies.items():
                body = traces(spans, service__instance__id=f"bot-{exporter}")
                assert await give(hub, reporting, [(body, "traces")]) == len(spans)
            for member in hub.roster.members(None):
                assert len(member.state.running) <= MAX_OPEN_TURNS
                assert len(member.state.rollup.turns) <= MAX_TURNS + MAX_OPEN_TURNS + 1
        grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024
        everything = Cell()
        for _, _, cell in hub.store.cells(86_400, 0, 1 << 40, "web"):
            everything.merge(cell)
        figures = everything.figures
        spans_of = [span for _, span in pairs]
        told = {
            name: sum(int(a["value"]["intValue"]) for span in spans_of for a in span["attributes"] if a["key"] == key)
            for name, key in (("in", "gen_ai.usage.input_tokens"), ("out", "gen_ai.usage.output_tokens"))
        }
        assert (figures.calls, figures.turns) == (exporters * turns * calls, exporters * turns)
        assert (figures.input_tokens, figures.output_tokens) == (told["in"], told["out"])
        assert grown_mb < 400


async def test_spans_in_no_order_are_folded_in_bounded_memory(tmp_path: Path) -> None:
    await _shuffled(tmp_path, 4_000, 1)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_a_hundred_thousand_spans_in_no_order_are_folded_in_bounded_memory(tmp_path: Path) -> None:
    await _shuffled(tmp_path, 100_000, 2)
