"""The strip at the top: the health of the socket and the numbers of now. Pure.

What is unknown is left out rather than shown as zero; where there is little room the last parts give way.
"""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.state.fold import Header
from dashboard.state.format import UNKNOWN, age, countdown, duration, money, percent, rate
from dashboard.widgets.spans import Line, Role, joined, line_width

_BLOCKS = "▁▂▃▄▅▆▇█"
_HEALTH: dict[str, tuple[str, Role]] = {"open": ("●", "good"), "closed": ("○", "dim"), "lost": ("✗", "bad")}
SPARK_CELLS = 16
_GAP = "   "


def paint(header: Header, width: int) -> Line:
    """One line, at most `width` cells."""
    spark = sparkline(header.rates[-SPARK_CELLS:])
    live = rate(header.live_rate, estimated=True) if header.live_rate is not None else f"{UNKNOWN} tok/s"
    open_socket = header.connection_state == "open" and header.transport != "http"
    cost = money(header.cost_usd) + ("+" if header.cost_partial else "")
    ranked: list[tuple[int, bool, Line]] = [
        (0, True, (("loopline", "strong"),)),
        (0, True, connection(header)),
        (4, open_socket, ((age(header.connection_age_s), ""),)),
        (6, open_socket, (("rotates in ", "dim"), (countdown(header.rotates_in_s), ""))),
        (1, True, ((live, "strong"),)),
        (5, bool(spark), ((spark, "inference"),)),
        (2, header.ttft_ms is not None, (("ttft ", "dim"), (duration(header.ttft_ms), "strong"))),
        (2, header.cache_ratio is not None, (("cached ", "dim"), (percent(header.cache_ratio), "strong"))),
        (3, header.cost_usd is not None, ((cost, "strong"), (" today", "dim"))),
    ]
    status = running(header)
    reserved = line_width(status) + len(_GAP) if status else 0
    shown = _fit([(rank, line) for rank, known, line in ranked if known], width - 2 - reserved)
    gap = width - 2 - line_width(shown) - line_width(status)
    return joined([shown, status], " " * max(1, gap)) if status else shown


def _fit(parts: list[tuple[int, Line]], width: int) -> Line:
    """The parts that have room, those of the highest rank dropped first."""
    while parts and line_width(joined([line for _, line in parts], _GAP)) > width:
        worst = max(range(len(parts)), key=lambda at: (parts[at][0], at))
        del parts[worst]
    return joined([line for _, line in parts], _GAP)


def connection(header: Header) -> Line:
    """`● ws` open, `○ ws closed`, `✗ ws lost`, `http` without a socket, `no connection` before the first."""
    if header.transport == "http":
        return (("▪ http", "warn"), (" no socket", "dim"))
    if header.connection_state is None:
        return (("○ ", "dim"), ("no connection yet", "dim"))
    glyph, role = _HEALTH[header.connection_state]
    word = "" if header.connection_state == "open" else f" {header.connection_state}"
    return ((f"{glyph} ", role), (f"ws{word}", role if word else ""))


def running(header: Header) -> Line:
    parts: list[Line] = []
    if header.approvals:
        parts.append(((f"? {header.approvals} to approve", "approval"),))
    if header.running:
        parts.append(((f"▶ {header.running} running", "accent"),))
    return joined(parts)


def sparkline(values: Sequence[float]) -> str:
    """One block per value, the highest full; "" if there is nothing but zeros."""
    most = max(values, default=0.0)
    if most <= 0:
        return ""
    return "".join(_BLOCKS[min(7, int(value / most * 7.999))] if value > 0 else " " for value in values)
