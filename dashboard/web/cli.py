"""Options of `loopline web` and `loopline web token`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

_KEPT = "Where the hub keeps what it is sent: a folder, or postgresql://user:password@host:port/name (or PGPASSWORD)."
Store = Annotated[str | None, typer.Option(metavar="URL", help=_KEPT)]
_OPTIONS = {"help_option_names": ["-h", "--help"]}


def main(arguments: list[str]) -> None:
    """Entry point of the command: parse and run."""
    app = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, context_settings=_OPTIONS
    )
    app.callback(invoke_without_command=True)(web)
    tokens = typer.Typer(help="Named tokens of people and agents.", no_args_is_help=True)
    for name, function in (("add", token_add), ("list", token_list), ("revoke", token_revoke)):
        tokens.command(name)(function)
    app.add_typer(tokens, name="token")
    app.command("move")(move)
    app(arguments, prog_name="loopline web")


def web(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on; others than loopback need a token.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0: any free one.")
    ] = 4646,
    public_url: Annotated[
        str | None, typer.Option(metavar="URL", help="How people reach it, if that is through a proxy.")
    ] = None,
    store: Store = None,
    ready_file: Annotated[
        Path | None, typer.Option(metavar="F", help="Written once listening: url, link and secrets as JSON.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the browser, signed in.")] = False,
) -> None:
    """The browser dashboard: this machine's turns live, and on a team's host what agents push."""
    if context.invoked_subcommand is not None:
        return
    from dashboard.web.command import web_command

    sys.exit(
        web_command(
            host=host,
            port=port,
            public_url=public_url,
            store=store,
            ready_file=ready_file,
            open_browser=open_browser,
        )
    )


def token_add(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    team: Annotated[str, typer.Option(metavar="T", help="Whose rows it sees and writes.")],
    role: Annotated[str, typer.Option(metavar="viewer|operator|admin|agent|service|metrics")] = "viewer",
    store: Store = None,
) -> None:
    """Make a token and print it, this once; people paste it into the login form, agents into `loopline hub join`."""
    from dashboard.web import command

    sys.exit(command.token_add(name, role=role, team=team, store=store))


def token_list(store: Store = None) -> None:
    """All tokens: name, role, team, age, and whether it was revoked."""
    from dashboard.web import command

    sys.exit(command.token_list(store=store))


def token_revoke(name: Annotated[str, typer.Argument(metavar="NAME")], store: Store = None) -> None:
    """Revoke a token; its sessions and streams end at once."""
    from dashboard.web import command

    sys.exit(command.token_revoke(name, store=store))


def move(
    to: Annotated[str, typer.Argument(metavar="URL", help="postgresql://user:password@host:port/name")],
    store: Annotated[str | None, typer.Option("--from", metavar="FOLDER", help="The hub's folder.")] = None,
) -> None:
    """Copy all that a stopped hub keeps in its folder into a PostgreSQL database."""
    from dashboard.web import command

    sys.exit(command.move_store(store, to))
