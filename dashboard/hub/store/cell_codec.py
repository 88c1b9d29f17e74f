"""Roll-up cells to bytes and back (MessagePack). Pure.

Fields are written by name, so that a hub of a later version reads earlier rows: what a row does not have counts as 0,
what this version does not know is left out.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agent_core.telemetry.rollup.figures import Figures
from agent_core.telemetry.rollup.sketch import GAP_ERROR, Sketch
from dashboard.hub.store.records import Cell
from dashboard.state.savings import Savings

_LIMIT = (1 << 63) - 1
_COUNTERS = ("statuses", "turn_statuses", "reuse", "errors", "suspect", "stages_ns")


class _Row(msgspec.Struct, omit_defaults=True):
    counts: dict[str, int] = {}
    counters: dict[str, dict[str, int]] = {}
    sketches: dict[str, dict[int, int]] = {}
    gaps: dict[int, int] = {}
    savings: dict[str, int] = {}


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Row)


def encode_cell(cell: Cell) -> bytes:
    figures = cell.figures
    return _encoder.encode(
        _Row(
            counts={name: _fit(value) for name in Figures.COUNTS if (value := getattr(figures, name))},
            counters={
                name: {key: _fit(count) for key, count in value.items()}
                for name in _COUNTERS
                if (value := getattr(figures, name))
            },
            sketches={name: sketch.to_buckets() for name, sketch in figures.sketches.items() if sketch.count},
            gaps=figures.gaps.to_buckets(),
            savings={name: _fit(value) for name in Savings.__struct_fields__ if (value := getattr(cell.savings, name))},
        )
    )


def decode_cell(data: bytes) -> Cell:
    """Raises `msgspec.DecodeError` for bytes that are no cell."""
    row = _decoder.decode(data)
    cell = Cell()
    figures: Any = cell.figures
    for name, value in row.counts.items():
        if name in Figures.COUNTS:
            setattr(figures, name, value)
    for name, counter in row.counters.items():
        if name in _COUNTERS:
            getattr(figures, name).update(counter)
    for name, buckets in row.sketches.items():
        if name in figures.sketches:
            figures.sketches[name] = Sketch(buckets=buckets)
    figures.gaps = Sketch(GAP_ERROR, row.gaps)
    for name, value in row.savings.items():
        if name in Savings.__struct_fields__:
            setattr(cell.savings, name, value)
    return cell


def _fit(value: int) -> int:
    """A sum as a 64-bit integer; one that is beyond (an agent that lies for long) stays at the limit."""
    return max(-_LIMIT, min(_LIMIT, value))
