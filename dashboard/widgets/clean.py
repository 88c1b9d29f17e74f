"""The exit of the terminal dashboards: whatever a widget draws, its texts hold nothing that a terminal would obey."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from agent_core.telemetry.display import clean


class CleanFilter(LineFilter):
    """Textual passes every line of every widget through it; colours and movements are drawn behind it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.control or segment.text.isprintable() else Segment(clean(segment.text), segment.style)
            for segment in segments
        ]


CLEAN = CleanFilter()
