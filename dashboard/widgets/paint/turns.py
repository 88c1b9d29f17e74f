"""The list of turns: two lines each, newest first. Pure."""

from __future__ import annotations

from dashboard.state.format import UNKNOWN, duration, one_line, rate, time_of_day
from dashboard.state.lines import TurnLine
from dashboard.state.silence import silent_words
from dashboard.widgets.spans import Line, Look, Role, crop, left, line_width, right, title_of

_GLYPHS: dict[str | None, tuple[str, Role]] = {
    None: ("▶", "accent"),
    "completed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "cancelled": ("■", "warn"),
    "interrupted": ("!", "bad"),
}
_WAITS: tuple[str, Role] = ("?", "approval")


def paint(look: Look, line: TurnLine) -> tuple[Line, Line]:
    """When and what, then how it went; both exactly `look.width` cells."""
    glyph, role = _WAITS if line.approvals else _GLYPHS[line.status]
    took = duration(line.duration_ms)
    title = title_of(look, line.turn, line.title)
    room = look.width - 8 - len(took) - 1
    title_role: Role = "strong" if line.status is None else ""
    first: Line = (
        (f"{glyph} ", role),
        (f"{time_of_day(line.started_ns, look.zone)} ", "dim"),
        (left(title, room), title_role),
        (right(took, len(took) + 1), "dim"),
    )
    return first, _second(line, look.width)


def _second(line: TurnLine, width: int) -> Line:
    calls = f"{line.calls} call{'' if line.calls == 1 else 's'}"
    if line.approvals:
        return _ends(((f"  {calls} ", "dim"), ("waits for approval", "approval")), (), width)
    if line.silent_s is not None:
        return _ends(((f"  {calls} ", "dim"), (silent_words(line.silent_s), "warn")), (), width)
    if line.error_code is not None and line.status in ("failed", "interrupted"):
        return _ends(((f"  {calls} ", "dim"), (one_line(line.error_code, 60), "bad")), (), width)
    start: Line = (
        (f"  {calls}", "dim"),
        (f" ⟲{line.reused}" if line.reused else "", ""),
        (f" ↑{line.full}" if line.full else "", "warn"),
    )
    if line.suspect:
        return _ends(start, (("suspect figures", "warn"),), width)
    speed = rate(line.rate, estimated=line.rate_estimated)
    return _ends(start, ((speed, "" if speed != UNKNOWN else "dim"),), width)


def _ends(start: Line, end: Line, width: int) -> Line:
    gap = width - line_width(start) - line_width(end)
    if gap < 1:
        return crop(start, width)
    return (*start, (" " * gap, ""), *end)
