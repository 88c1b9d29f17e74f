"""Options of `loopline tui`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def main(arguments: list[str]) -> None:
    """Entry point of the command: parse and run."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(tui)
    app(arguments, prog_name="loopline tui")


def tui(
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Play a journal or an NDJSON export again.")
    ] = None,
    speed: Annotated[float, typer.Option(metavar="N", help="How many times as fast; 0: at once.")] = 1.0,
    hub: Annotated[str | None, typer.Option(metavar="URL", help="Follow a team hub.")] = None,
) -> None:
    """Follow the turns of this machine live: every editor window and every run.

    `?` explains the keys and each number's formula, `q` quits.
    """
    from dashboard.tui.command import tui_command

    sys.exit(tui_command(replay=replay, speed=speed, hub=hub))
