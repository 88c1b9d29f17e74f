"""What lies between the page and the composer: completions, and messages that wait for their turn. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from dashboard.agent.composing.suggesting import Suggestions
from dashboard.state.format import one_line
from dashboard.widgets.spans import Line, Role, left

WAITING_SHOWN = 3


def paint_offers(found: Suggestions, chosen: int, width: int) -> list[Line]:
    """One line each; the chosen one has a mark, so that it does not hang on colour."""
    names = [one_line(item.shown, 200) for item in found.items]
    cells = min(max(map(cell_len, names)), max(10, width - 20)) if any(item.what for item in found.items) else width - 2
    lines: list[Line] = []
    for at, (name, item) in enumerate(zip(names, found.items, strict=True)):
        role: Role = "accent" if at == chosen else ""
        mark = "▸ " if at == chosen else "  "
        lines.append(((mark, "accent"), (left(name, cells), role), (f"  {item.what}" if item.what else "", "dim")))
    return lines


def paint_waiting(tasks: Sequence[str], width: int) -> list[Line]:
    """What comes after the turn that runs, the next one first."""
    lines: list[Line] = [
        (("… waits  ", "dim"), (left(one_line(task, 200), max(10, width - 40)).rstrip(), ""))
        for task in tasks[:WAITING_SHOWN]
    ]
    if len(tasks) > WAITING_SHOWN:
        lines.append(((f"  and {len(tasks) - WAITING_SHOWN} more", "dim"),))
    if lines:
        lines[-1] = (*lines[-1], ("   Alt+↑ takes it back", "dim"))
    return lines
