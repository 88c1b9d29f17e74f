"""The table of calls at the end of a run, made from the roll-up alone."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from agent_core.telemetry.display import REUSE_WORDS, UNKNOWN, cached, duration, number, percent, size
from agent_core.telemetry.rollup.rows import CallRow

_COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("call", "", 0),
    ("ttft", "bold", 0),
    ("overhead", "dark_orange", 0),
    ("inference", "blue", 0),
    ("tools", "green", 0),
    ("in", "", 0),
    ("cached", "", 0),
    ("out", "", 100),
    ("tok/s", "", 110),
    ("up", "", 0),
    ("chain", "", 0),
)
"""Name, style, and the width of the terminal from which on the column is shown."""


def call_table(rows: Sequence[CallRow], width: int) -> Table:
    """One line per call, numbers right-aligned, unknown as a dash; a terminal of few columns gets fewer of ours."""
    shown = [index for index, (_, _, least) in enumerate(_COLUMNS) if width >= least]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index in shown:
        name, style, _ = _COLUMNS[index]
        table.add_column(name, justify="left" if name == "chain" else "right", style=style, no_wrap=True)
    for row in rows:
        cells = _cells(row, brief=width < 100)
        table.add_row(*(cells[index] for index in shown))
    return table


def _cells(row: CallRow, *, brief: bool) -> tuple[str, ...]:
    return (
        str(row.number),
        duration(row.ttft_ms),
        duration(row.overhead_ms),
        duration(row.inference_ms),
        duration(row.tools_ms),
        number(row.input_tokens),
        percent(row.cache_ratio) if brief else cached(row.cached_tokens, row.cache_ratio),
        number(row.output_tokens),
        number(row.rate),
        size(row.bytes_up),
        REUSE_WORDS.get(row.reuse or "", UNKNOWN),
    )
