"""What the main screen can have done for it: a port, so that screens do not know the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dashboard.widgets.spans import Row


class Work(Protocol):
    def now_ns(self) -> int:
        """The instant on screen; a replay has its own."""

    def trouble(self) -> str:
        """What is wrong with the feed; "" while all is well."""

    def tell(self, text: str, *, bad: bool = False) -> None:
        """Say something for a few seconds."""

    def pause_replay(self, paused: bool) -> None: ...

    def next_theme(self) -> None: ...

    def export_name(self) -> str:
        """A file name to propose."""

    def export(self, name: str, turns: Sequence[str]) -> None: ...

    def copy(self, row: Row) -> None: ...

    def compare_turns(self, baseline: str, turn: str) -> None: ...

    def compare_models(self) -> None: ...

    def approve(self, turn: str | None) -> None:
        """Ask about the pending approvals, those of `turn` first."""

    def cancel(self, turn: str | None) -> None: ...

    def older(self) -> None: ...

    def help(self) -> None: ...
