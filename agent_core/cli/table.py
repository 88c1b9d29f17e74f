"""The table of calls at the end of a run, made from the roll-up alone."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from agent_core.cli.text import UNKNOWN, duration, number, size
from agent_core.telemetry.rows import CallRow

_CHAIN = {
    "first": "first",
    "reused": "⟲ reused",
    "full_resend": "↑ full",
    "not_found": "↑ not found",
    "evicted": "↑ evicted",
    "rotated": "↑ rotated",
    "reconnected": "↯ reconnected",
}

_COLUMNS = (
    ("call", ""),
    ("ttft", "bold"),
    ("overhead", "dark_orange"),
    ("inference", "blue"),
    ("tools", "green"),
    ("in", ""),
    ("cached", ""),
    ("out", ""),
    ("tok/s", ""),
    ("up", ""),
)


def call_table(rows: Sequence[CallRow]) -> Table:
    """One line per call, numbers right-aligned, unknown as a dash."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name, style in _COLUMNS:
        table.add_column(name, justify="right", style=style, no_wrap=True)
    table.add_column("chain", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row.number),
            duration(row.ttft_ms),
            duration(row.overhead_ms),
            duration(row.inference_ms),
            duration(row.tools_ms),
            number(row.input_tokens),
            _cached(row),
            number(row.output_tokens),
            number(row.rate),
            size(row.bytes_up),
            _CHAIN.get(row.reuse or "", UNKNOWN),
        )
    return table


def _cached(row: CallRow) -> str:
    if row.cached_tokens is None:
        return UNKNOWN
    ratio = row.cache_ratio
    return f"{row.cached_tokens:,}" if ratio is None else f"{row.cached_tokens:,} ({ratio:.0%})"
