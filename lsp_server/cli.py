"""Options of `loopline lsp`."""

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
    app.command()(lsp)
    app(arguments, prog_name="loopline lsp")


def lsp(
    stdio: Annotated[bool, typer.Option("--stdio", help="Speak on standard input and output; the default.")] = False,
    tcp: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Listen on a loopback port.")] = None,
    ws: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Listen for WebSockets, for editors in a browser.")
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(metavar="F", help="With --tcp or --ws: written once listening, as JSON.")
    ] = None,
    linger_s: Annotated[
        float,
        typer.Option(
            "--linger-s",
            metavar="N",
            min=0,
            help="Without a word of goodbye from the editor, end running turns first: "
            "wait this long while nobody is attached.",
        ),
    ] = 0,
) -> None:
    """The language server: hosts the agent for any editor that speaks LSP."""
    from lsp_server.command import lsp_command

    sys.exit(lsp_command(stdio=stdio, tcp=tcp, ws=ws, ready_file=ready_file, linger_s=linger_s))
