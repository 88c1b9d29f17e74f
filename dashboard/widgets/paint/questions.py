"""Questions to the person. What is asked is shown whole, with control characters spelled out. Pure."""

from __future__ import annotations

import textwrap

from agent_core.turns.approval import Approval
from dashboard.state.format import one_line, visible
from dashboard.widgets.spans import Line


def head(one: Approval, title: str, place: str) -> tuple[Line, ...]:
    """On whose behalf the agent asks, and for what kind of thing."""
    return (
        (("? approval", "approval"), (f"  {place}", "dim")),
        ((one_line(title, 200), "dim"),),
        (),
        ((one_line(one.name, 40), "strong"), (f"  {one_line(one.kind, 40)}", "dim")),
    )


def subject(one: Approval, width: int) -> list[Line]:
    """All of what is asked for, wrapped, nothing left out."""
    return [
        ((part, "strong"),)
        for line in visible(one.subject).split("\n")
        for part in (textwrap.wrap(line, max(20, width), drop_whitespace=False) or [""])
    ]


def keys(scrolls: bool, several: bool) -> Line:
    """How to answer; `scrolls`: there is more to read than fits, `several`: there are other approvals."""
    more: Line = (("↓", "warn"), (" more   ", "warn")) if scrolls else ()
    others: Line = (("← →", "accent"), (" others   ", "")) if several else ()
    return (
        *more, ("y", "accent"), (" allow   ", ""), ("w", "accent"), (" always, in this session   ", ""),
        ("n", "accent"), (" deny   ", ""), *others, ("Esc", "accent"), (" not now", ""),
    )  # fmt: skip


def cancel(title: str, width: int) -> tuple[Line, ...]:
    return (
        (("Cancel this turn?", "strong"),),
        ((one_line(title, max(20, width)), ""),),
        (),
        (("y", "accent"), (" cancel it   ", ""), ("Esc", "accent"), (" let it run", "")),
    )
