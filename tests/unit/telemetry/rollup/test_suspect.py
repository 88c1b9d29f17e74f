"""Figures that cannot be right are named, kept as reported, and spoil nothing that is computed."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from rich.console import Console

from agent_core.cli.table import call_table, suspect_note
from agent_core.telemetry import events as ev
from agent_core.telemetry.export.files import write_csv, write_ndjson
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.suspect import MAX_COUNT, suspect_figures
from tests.support.telemetry.scene import Scene

SOUND: dict[str, Any] = {
    "duration_ms": 900.0, "ttft_ms": 40.0, "visible_ttft_ms": 60.0, "inference_ms": 800.0, "input_tokens": 100,
    "cached_tokens": 60, "cache_write_tokens": 40, "output_tokens": 20, "reasoning_tokens": 20, "deltas": 3,
    "bytes_down": 900, "cost_usd": 0.0,
}  # fmt: skip
KINDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "sound": ({}, []),
    "unknown": (dict.fromkeys([name for name in SOUND if name != "duration_ms"]), []),
    "cached above input": ({"cached_tokens": 3_000, "cache_write_tokens": None}, ["cached_tokens"]),
    "written above input": ({"cache_write_tokens": 101, "cached_tokens": 0}, ["cache_write_tokens"]),
    "both together above": ({"cached_tokens": 61}, ["cached_tokens", "cache_write_tokens"]),
    "negative cached": ({"cached_tokens": -1}, ["cached_tokens"]),
    "negative input": ({"input_tokens": -5}, ["input_tokens"]),
    "beyond all measure": ({"cached_tokens": MAX_COUNT + 1}, ["cached_tokens"]),
    "input beyond all measure": ({"input_tokens": 1 << 62}, ["input_tokens"]),
    "reasoning above output": ({"reasoning_tokens": 21}, ["reasoning_tokens"]),
    "first token after the end": ({"ttft_ms": 950.0}, ["ttft_ms", "visible_ttft_ms"]),
    "visible before the first": ({"visible_ttft_ms": 20.0}, ["visible_ttft_ms"]),
    "within the slack of a clock": ({"ttft_ms": 60.5, "inference_ms": 900.9}, []),
    "inference above the whole": ({"inference_ms": 1_000.0}, ["inference_ms"]),
    "negative duration": ({"duration_ms": -3.0}, ["duration_ms"]),
    "no number": ({"duration_ms": math.nan, "cost_usd": math.nan}, ["duration_ms", "cost_usd"]),
    "endless": ({"duration_ms": math.inf}, ["duration_ms"]),
    "paid to spend": ({"cost_usd": -0.1}, ["cost_usd"]),
    "negative bytes": ({"bytes_down": -1, "deltas": -1}, ["deltas", "bytes_down"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_right_is_named(kind: str) -> None:
    changes, names = KINDS[kind]
    assert suspect_figures(ev.CallCompleted(status="completed", **{**SOUND, **changes})) == names


def spoilt() -> Scene:
    """A sound call, then one with more cached tokens than input and a first token after its end."""
    scene = Scene()
    scene.start_session()
    scene.start_turn()
    scene.call(input_tokens=1_000, cached_tokens=500)
    scene.complete(scene.send(), 50, 30, ttft_ms=900.0, input_tokens=100, cached_tokens=3_000, output_tokens=10)
    return scene


def test_it_is_kept_as_reported_and_enters_no_share_percentile_or_cost() -> None:
    rollup = Rollup().fold_all(spoilt().events)
    sound, wrong = rollup.call_rows()
    assert sound.suspect == []
    assert wrong.suspect == ["ttft_ms", "cached_tokens"]
    assert (wrong.cached_tokens, wrong.cache_ratio, wrong.cost_usd, wrong.tpot_ms) == (3_000, None, None, None)
    total = rollup.groups.total
    assert total.cached_tokens == 3_500, "sums are of what was reported"
    assert total.suspect == {"cached_tokens": 1, "ttft_ms": 1}
    assert total.cache_ratio == 0.5
    assert total.sketches["ttft"].count == 1


def test_a_figure_told_before_the_end_counts_too() -> None:
    scene = Scene()
    scene.start_turn()
    call = scene.send()
    scene.delta(call, 500)
    scene.complete(call, 50, 30)
    (row,) = Rollup().fold_all(scene.events).call_rows()
    assert row.suspect == ["ttft_ms", "visible_ttft_ms"]


def test_a_corrected_call_is_suspect_no_more() -> None:
    scene = spoilt()
    scene.complete("sess_1_call_2", 50, 30, ttft_ms=20.0, input_tokens=100, cached_tokens=90, output_tokens=10)
    rollup = Rollup().fold_all(scene.events)
    assert rollup.call_rows()[1].suspect == []
    assert rollup.groups.total.suspect == {}


def test_exports_name_it() -> None:
    events = spoilt().events
    lines, table = io.BytesIO(), io.BytesIO()
    write_ndjson(iter(events), lines)
    marked = [line for line in map(json.loads, lines.getvalue().splitlines()) if "suspect" in line]
    assert [(line["cached_tokens"], line["suspect"]) for line in marked] == [(3_000, ["ttft_ms", "cached_tokens"])]
    write_csv(iter(events), table)
    head, *rows = table.getvalue().decode().splitlines()
    assert head.endswith(",suspect")
    assert [row.rpartition(",")[2] for row in rows if row.startswith("call.completed")] == ["", "ttft_ms cached_tokens"]


def test_the_table_of_a_run_marks_it() -> None:
    rows = Rollup().fold_all(spoilt().events).call_rows()
    for width in (80, 120):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(call_table(rows, width))
        told = console.export_text()
        assert "3,000 (?)" in told
        assert told.count("(?)") == 2
    assert suspect_note(rows) == "(?) suspect, shown as reported: call 2: ttft, cached tokens"
    assert suspect_note(rows[:1]) == ""
