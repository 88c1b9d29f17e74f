"""Two turns or two models side by side. Pure."""

from __future__ import annotations

from agent_core.telemetry.rollup.figures import Figures
from dashboard.state.compare import Compared, compare
from dashboard.state.format import STAGE_WORDS, UNKNOWN
from dashboard.state.intervals import MIN_TURNS
from dashboard.widgets.paint.tables import Cell, Column, table
from dashboard.widgets.spans import STAGE_GLYPHS, STAGE_ROLES, Line, Page, Role, Row, left, nothing

_VERDICTS: dict[str, tuple[str, Role]] = {
    "better": ("▲ better", "good"),
    "worse": ("▼ worse", "bad"),
    "unclear": ("no clear difference", "dim"),
    "few": ("", "dim"),
    "unknown": ("", "dim"),
}

_FEW = f"No verdict: one side has fewer than {MIN_TURNS} turns."


def paint(name_a: str, name_b: str, a: Figures, b: Figures, width: int) -> Page:
    """`a` is the baseline; change and verdict are of `b` against it."""
    found = compare(a, b)
    if not found:
        return nothing("Nothing to compare yet.")
    columns = (
        Column("", align="left", role="dim"),
        Column("A"),
        Column("B"),
        Column("B - A", 2),
        Column("B is", 1, align="left"),
    )
    header, lines = table(columns, [_cells(one) for one in found], width)
    room = max(8, width - 3)
    fixed: tuple[Line, ...] = (
        (("A  ", "strong"), (left(name_a, room), "")),
        _stages(a, b, a, room),
        (("B  ", "strong"), (left(name_b, room), "")),
        _stages(a, b, b, room),
        ((_FEW, "dim"),) if any(one.verdict == "few" for one in found) else (),
        header,
    )
    return Page(fixed=fixed, rows=[Row(line, key=one.measure.key) for line, one in zip(lines, found, strict=True)])


def _stages(a: Figures, b: Figures, one: Figures, room: int) -> Line:
    """The stages of a turn as a bar, to the scale of the longer of the two."""
    most = max(_per_turn(a), _per_turn(b))
    if not most or not one.turns:
        return (("   ", ""), (UNKNOWN, "dim"))
    spans: list[tuple[str, Role]] = [("   ", "")]
    for stage in STAGE_WORDS:
        ns = one.stages_ns[stage] / one.turns  # type: ignore[index]
        if ns > 0:
            spans.append((STAGE_GLYPHS[stage] * max(1, int(ns / most * room)), STAGE_ROLES[stage]))
    return tuple(spans)


def _per_turn(figures: Figures) -> float:
    return figures.turn_ns / figures.turns if figures.turns else 0.0


def _cells(one: Compared) -> list[Cell]:
    show = one.measure.show
    verdict = _VERDICTS[one.verdict]
    change = UNKNOWN if one.change is None else f"{one.change * 100:+.0f} %"
    return [one.measure.name, show(one.a), show(one.b), (change, verdict[1]), verdict]
