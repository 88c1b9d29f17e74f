"""The table of calls at the end of a run, made from the roll-up alone."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from agent_core.cli.console import make_table
from agent_core.telemetry.display import (
    REUSE_WORDS,
    SUSPECT,
    UNKNOWN,
    cached,
    duration,
    figure_names,
    marked,
    number,
    percent,
    size,
)
from agent_core.telemetry.rollup.rows import CallRow

THINK = "think"
"""The reasoning part of a call's output tokens; no column where no call reasoned."""
_COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("call", "", 0),
    ("ttft", "bold", 0),
    ("overhead", "dark_orange", 0),
    ("inference", "blue", 0),
    ("tools", "green", 0),
    ("in", "", 0),
    ("cached", "", 0),
    ("out", "", 100),
    (THINK, "", 100),
    ("tok/s", "", 110),
    ("up", "", 0),
    ("chain", "", 0),
)
"""Name, style, and the width of the terminal from which on the column is shown."""
_NAMED = 5
"""Calls with suspect figures that are named."""


def call_table(rows: Sequence[CallRow], width: int) -> Table:
    """One line per call, numbers right-aligned, unknown as a dash; a terminal of few columns gets fewer of ours."""
    thinks = any(row.reasoning_tokens for row in rows)
    shown = [index for index, (name, _, least) in enumerate(_COLUMNS) if width >= least and (thinks or name != THINK)]
    table = make_table()
    for index in shown:
        name, style, _ = _COLUMNS[index]
        table.add_column(name, justify="left" if name == "chain" else "right", style=style, no_wrap=True)
    for row in rows:
        cells = _cells(row, brief=width < 100)
        table.add_row(*(cells[index] for index in shown))
    return table


def suspect_note(rows: Sequence[CallRow]) -> str:
    """Which figures of which calls cannot be right; "" if all can."""
    calls = [f"call {row.number}: {figure_names(row.suspect)}" for row in rows if row.suspect]
    more = f" and {len(calls) - _NAMED} more calls" if len(calls) > _NAMED else ""
    return f"{SUSPECT} suspect, shown as reported: {'; '.join(calls[:_NAMED])}{more}" if calls else ""


def _cells(row: CallRow, *, brief: bool) -> tuple[str, ...]:
    def told(text: str, *names: str) -> str:
        return marked(text, suspect=not set(names).isdisjoint(row.suspect))

    hits = cached(row.cached_tokens, row.cache_ratio)
    return (
        str(row.number),
        told(duration(row.ttft_ms), "ttft_ms", "visible_ttft_ms"),
        told(duration(row.overhead_ms), "duration_ms"),
        told(duration(row.inference_ms), "inference_ms"),
        duration(row.tools_ms),
        told(number(row.input_tokens), "input_tokens"),
        told(hits if row.usage_suspect or not brief else percent(row.cache_ratio), "cached_tokens"),
        told(number(row.output_tokens), "output_tokens"),
        told(number(row.reasoning_tokens), "reasoning_tokens"),
        number(row.rate),
        size(row.bytes_up),
        REUSE_WORDS.get(row.reuse or "", UNKNOWN),
    )
