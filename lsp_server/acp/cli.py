"""Options of `loopline acp`."""

from __future__ import annotations

import sys

import typer


def main(arguments: list[str]) -> None:
    """Entry point of the command: parse and run."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(acp)
    app(arguments, prog_name="loopline acp")


def acp() -> None:
    """The agent for any editor that speaks the Agent Client Protocol (version 1), on standard input and output.

    An editor starts it by itself: name `loopline acp` as the agent's command there.
    """
    from lsp_server.acp.command import acp_command

    sys.exit(acp_command())
