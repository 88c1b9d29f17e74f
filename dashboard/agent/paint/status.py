"""The line at the bottom: what answers, how, and what it takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dashboard.state.format import REUSE_WORDS, UNKNOWN, duration, money, one_line, percent, rate, short_number
from dashboard.widgets.spans import Line, Role, joined, line_width

BAR = "▁▂▃▄▅▆▇█"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand. None and "": not known, or there is none."""

    model: str = ""
    effort: str = ""
    mode: str = ""
    approve: str = ""
    branch: str = ""
    context_tokens: int | None = None
    context_size: int | None = None
    """Tokens at which the conversation is made shorter, or that the model takes."""
    rate: float | None = None
    """Output tokens per second."""
    rate_estimated: bool = False
    ttft_ms: float | None = None
    cache_ratio: float | None = None
    """Cached of the input tokens of the latest call, 0 to 1."""
    reuse: str | None = None
    cost_usd: float | None = None
    cost_partial: bool = False
    place: str = ""
    """`attached` where another process hosts the session."""
    doing: str = ""
    """What runs now, in a word."""


_APPROVE = {"ask": "asks", "auto": "asks nothing", "never": "denies"}


def paint_status(standing: Standing, width: int, hint: str) -> Line:
    """As much as there is room for: the left part first, then figures, then the hint."""
    left: list[Line] = []
    if standing.doing:
        left.append(((standing.doing, "accent"),))
    model = one_line(standing.model, 40) or UNKNOWN
    left.append(((model, "strong"), (f" {standing.effort}" if standing.effort else "", "")))
    if standing.mode:
        left.append(((standing.mode, "warn" if standing.mode == "plan" else ""),))
    if standing.approve:
        left.append(((_APPROVE.get(standing.approve, standing.approve), "warn" if standing.approve == "auto" else ""),))
    if standing.place == "attached":
        left.append((("attached", "accent"),))
    if standing.branch:
        left.append(((one_line(standing.branch, 30), "dim"),))
    parts = [*left, *_figures(standing)]
    line: Line = ()
    for part in parts:
        longer = joined([line, part], " · ") if line else part
        if line_width(longer) > width:
            break
        line = longer
    gap = width - line_width(line) - len(hint)
    return (*line, (" " * gap, ""), (hint, "dim")) if gap >= 2 else line


def _figures(standing: Standing) -> Sequence[Line]:
    found: list[Line] = []
    if standing.context_tokens is not None:
        found.append(_context(standing.context_tokens, standing.context_size))
    if standing.rate is not None:
        found.append(((rate(standing.rate, estimated=standing.rate_estimated), "inference"),))
    if standing.ttft_ms is not None:
        found.append((("ttft ", "dim"), (duration(standing.ttft_ms), "")))
    if standing.cache_ratio is not None:
        found.append((("cached ", "dim"), (percent(standing.cache_ratio), "")))
    if standing.reuse is not None:
        found.append(((REUSE_WORDS.get(standing.reuse, standing.reuse), "dim"),))
    if standing.cost_usd is not None:
        found.append(((money(standing.cost_usd) + ("+" if standing.cost_partial else ""), ""),))
    return found


def _context(tokens: int, most: int | None) -> Line:
    if not most:
        return (("ctx ", "dim"), (short_number(tokens), ""))
    share = tokens / most
    cell = BAR[min(len(BAR) - 1, int(share * len(BAR)))]
    role: Role = "bad" if share > 0.9 else "warn" if share > 0.75 else ""
    return (("ctx ", "dim"), (percent(share), role), (f" {cell}", "dim"))
