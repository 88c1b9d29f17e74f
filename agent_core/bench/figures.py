"""A measured figure, and reports of them. Pure but for `write`.

A figure names what it is compared `against`; its `ratio` is to that, measured in the same run on the same machine.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """`value` in `unit`, the median of `runs`. `against` and `ratio` None: nothing to compare with."""

    name: str
    value: float
    unit: str
    against: str | None = None
    ratio: float | None = None
    runs: int = 1
    note: str = ""


def rank(values: Iterable[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie; NaN of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else math.nan


def write(folder: Path, meta: Mapping[str, object], figures: Sequence[Figure]) -> None:
    """Write `bench.json`, `bench.md` and `bench.svg` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    report = msgspec.json.encode({"meta": meta, "figures": figures})
    (folder / "bench.json").write_bytes(msgspec.json.format(report, indent=2) + b"\n")
    (folder / "bench.md").write_text(markdown(meta, figures), encoding="utf-8")
    (folder / "bench.svg").write_text(svg(figures), encoding="utf-8")


def markdown(meta: Mapping[str, object], figures: Sequence[Figure]) -> str:
    lines = ["# Benchmark", "", "Use the ratios, not the milliseconds: they are of one run on one machine.", ""]
    lines += [f"- {key}: {value}" for key, value in meta.items()]
    lines += ["", "| figure | value | against | ratio | runs | note |", "|---|---:|---|---:|---:|---|"]
    for figure in figures:
        ratio = "–" if figure.ratio is None else f"{figure.ratio:.2f} ×"
        lines.append(
            f"| {figure.name} | {shown(figure.value)} {figure.unit} | {figure.against or '–'} | {ratio} "
            f"| {figure.runs} | {figure.note} |"
        )
    return "\n".join(lines) + "\n"


def svg(figures: Sequence[Figure]) -> str:
    """Bars of the ratios, longest first; 1 is marked by a line."""
    bars = [figure for figure in figures if figure.ratio is not None]
    width, row, label = 860, 24, 420
    top = max((figure.ratio or 0 for figure in bars), default=1.0)
    scale = (width - label - 90) / max(top, 1.0)
    height = 24 + row * len(bars)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="12">',
        f'<line x1="{label + scale:.1f}" y1="4" x2="{label + scale:.1f}" y2="{height - 4}" stroke="#999"/>',
    ]
    for index, figure in enumerate(bars):
        y, ratio = 12 + index * row, figure.ratio or 0.0
        text = html.escape(f"{figure.name} ÷ {figure.against}")
        parts.append(f'<text x="{label - 8}" y="{y + 13}" text-anchor="end" fill="#444">{text}</text>')
        parts.append(f'<rect x="{label}" y="{y}" width="{max(1.0, ratio * scale):.1f}" height="16" fill="#3b82f6"/>')
        parts.append(f'<text x="{label + ratio * scale + 6:.1f}" y="{y + 13}" fill="#444">{ratio:.2f} ×</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def shown(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"
