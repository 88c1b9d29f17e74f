"""How every tab and sheet looks, at a small and a large terminal: fixed clock, fixed feed, drawn by hand.

`pytest tests/snapshot --snapshot-update` accepts a new look, after it was looked at (`--snapshot-report FILE`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest
from textual.app import App
from textual.pilot import Pilot

from dashboard.tui.desk import TABS
from tests.support.terminal.pictures import after, dashboard

SIZES = ((80, 24), (160, 50))
NAMES = [tab.short.lower() for tab in TABS]


class SnapCompare(Protocol):
    def __call__(
        self,
        app: App[int],
        *,
        terminal_size: tuple[int, int],
        run_before: Callable[[Pilot[int]], Awaitable[None]],
    ) -> bool: ...


def looks(snap_compare: SnapCompare, size: tuple[int, int], *keys: str, theme: str | None = None) -> bool:
    app, feed = dashboard(theme=theme)
    return snap_compare(app, terminal_size=size, run_before=after(app, feed, *keys))


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x50"])
@pytest.mark.parametrize("tab", range(len(TABS)), ids=NAMES)
def test_tab(snap_compare: SnapCompare, tab: int, size: tuple[int, int]) -> None:
    assert looks(snap_compare, size, str(tab + 1), "right")


@pytest.mark.parametrize("theme", ["loopline-light", "ansi-dark"])
def test_theme(snap_compare: SnapCompare, theme: str) -> None:
    assert looks(snap_compare, (100, 30), "1", theme=theme)


def test_an_ended_turn_among_others(snap_compare: SnapCompare) -> None:
    assert looks(snap_compare, (120, 32), "G", "3")


def test_help(snap_compare: SnapCompare) -> None:
    assert looks(snap_compare, (100, 30), "question_mark")


def test_comparison(snap_compare: SnapCompare) -> None:
    assert looks(snap_compare, (100, 30), "c", "G", "c")


def test_filter(snap_compare: SnapCompare) -> None:
    assert looks(snap_compare, (100, 30), "slash", *"docs")


def test_one_part_at_a_time_on_a_phone(snap_compare: SnapCompare) -> None:
    assert looks(snap_compare, (48, 24), "enter")


def test_nothing_yet(snap_compare: SnapCompare) -> None:
    app, feed = dashboard([])
    assert snap_compare(app, terminal_size=(100, 30), run_before=after(app, feed))
