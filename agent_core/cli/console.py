"""The console that commands print on: Rich, with everything that it renders cleaned and no markup in texts."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from agent_core.telemetry.display import clean
from agent_core.telemetry.screen import CleanStream

if TYPE_CHECKING:
    from rich.table import Table

MIN_WIDTH = 120
"""Columns of a table where output is no terminal."""


class CleanConsole(Console):
    """Colours and cursor movements are Rich's own; in the texts between them nothing but text is left.

    `[…]` is no markup, `:name:` no picture. `quiet` prints nothing.
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False, width: int | None = None) -> None:
        super().__init__(
            file=_below(sys.stderr if stderr else sys.stdout),
            quiet=quiet,
            width=width,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else clean(text), style, control)


def make_console() -> CleanConsole:
    """Standard output; where it is no terminal, lines may be as long as the table needs."""
    console = CleanConsole()
    return console if console.is_terminal else CleanConsole(width=max(console.width, MIN_WIDTH))


def make_table() -> Table:
    """Of columns without lines between them, as every list of ours is printed."""
    from rich.table import Table

    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _below(stream: IO[str]) -> IO[str]:
    """Rich writes its colours itself, so it writes below the filter for plain text."""
    if isinstance(stream, CleanStream):
        stream.flush()
        below: io.TextIOWrapper = stream.below
        below.reconfigure(errors="backslashreplace")
        return below
    return stream
