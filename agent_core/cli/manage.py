"""Commands that look after what Loopline keeps: settings, keys, sessions, telemetry, the team hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_core.cli import plugins

Json = Annotated[bool, typer.Option("--json", help="One JSON object per line on stdout.")]

auth_app = typer.Typer(help="Keys of providers: the system's keyring, else a private file.", no_args_is_help=True)
hub_app = typer.Typer(help="The team hub that telemetry is pushed to.", no_args_is_help=True)
agents_app = typer.Typer(help="Sessions that go on in the background: list, attach, stop.", invoke_without_command=True)
sessions_app = typer.Typer(
    help="Earlier sessions: list, show, rename, fork, compact, delete.", invoke_without_command=True
)


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command("config")(config)
    app.command("doctor")(doctor)
    app.command("export")(export)
    app.command("import")(import_)
    app.command("models")(models)
    app.command("trust")(trust)
    for name, group in (("agents", agents_app), ("auth", auth_app), ("hub", hub_app), ("sessions", sessions_app)):
        app.add_typer(group, name=name)


def config(
    workspace: Annotated[Path, typer.Option("-w", "--workspace", metavar="DIR", show_default="this folder")] = Path(),
    json: Json = False,
) -> None:
    """Show each setting with its value and where it comes from."""
    from agent_core.cli.settings import show_config

    show_config(workspace, json=json)


def doctor(json: Json = False) -> None:
    """Check this machine, and say what to do about what is missing."""
    from agent_core.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(json=json))


def import_(
    agent: Annotated[str, typer.Argument(metavar="codex|copilot|claude")],
    path: Annotated[Path | None, typer.Argument(metavar="[PATH]", help="A log, or a folder of them.")] = None,
) -> None:
    """Read the session logs that another agent left on this machine: figures only, and only what is new."""
    from agent_core.cli.others.importing import import_logs

    import_logs(agent, path)


def models(
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of this provider. [default: the one in use]")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Of this service, ending in /v1.")] = None,
    json: Json = False,
) -> None:
    """List the models of the provider in use, with what is known of each."""
    from agent_core.cli.providers.models import show_models

    show_models(provider, base_url, json=json)


def export(
    format: Annotated[str, typer.Option("--format", metavar="csv|ndjson|parquet")] = "ndjson",
    since: Annotated[str | None, typer.Option(metavar="WHEN", help="A date, or an age such as 7d or 12h.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID")] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    output: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="Else standard output.")] = None,
) -> None:
    """Write the telemetry of this machine: one event a line or row."""
    from agent_core.cli.telemetry import export_events

    export_events(format=format, since=since, session=session, model=model, output=output)


def trust(folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Trust a folder: it may then configure and start things by itself (virtual environment, hooks, AI comments)."""
    from agent_core.cli.settings import trust_folder

    trust_folder(folder)


@auth_app.command("set")
def auth_set(
    provider: Annotated[str, typer.Argument(metavar="[PROVIDER]")] = "openai",
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The service that it is for; it goes to no other. [default: base_url of your "
                     "settings, else the provider's]"),
    ] = None,
) -> None:  # fmt: skip
    """Keep a key; it is read from standard input."""
    from agent_core.cli.providers.keys import set_key

    set_key(provider, base_url)


@auth_app.command("status")
def auth_status(provider: Annotated[str, typer.Argument(metavar="[PROVIDER]")] = "openai") -> None:
    """Say whether a key is set, and where. Exit code 1 if none is."""
    from agent_core.cli.providers.keys import show_key

    raise typer.Exit(show_key(provider))


@auth_app.command("remove")
def auth_remove(provider: Annotated[str, typer.Argument(metavar="[PROVIDER]")] = "openai") -> None:
    """Forget a kept key."""
    from agent_core.cli.providers.keys import remove_key

    remove_key(provider)


@hub_app.command("join")
def hub_join(url: Annotated[str, typer.Argument(metavar="URL")]) -> None:
    """Push telemetry to a team hub from now on; its token is read from standard input."""
    from agent_core.cli.telemetry import join_hub

    join_hub(url)


@hub_app.command("leave")
def hub_leave() -> None:
    """Push nothing any more, and forget the token."""
    from agent_core.cli.telemetry import leave_hub

    leave_hub()


plugins.register_part(
    hub_app, "move", "Copy all that a stopped hub keeps in its folder into a PostgreSQL database.", of="web"
)


@hub_app.command("setup")
def hub_setup(
    agent: Annotated[str, typer.Argument(metavar="codex|copilot|claude")],
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="The hub. [default: the one that this machine has joined]")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write it, after asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --write: do not ask.")] = False,
) -> None:
    """Show what another agent needs in its configuration to send its figures to a hub."""
    from agent_core.cli.others.setup import setup_agent

    setup_agent(agent, url=url, write=write, yes=yes)


@hub_app.command("status")
def hub_status() -> None:
    """Say which hub is joined and whether it can be reached."""
    from agent_core.cli.telemetry import hub_state

    raise typer.Exit(hub_state())


Which = Annotated[
    str, typer.Argument(metavar="[ID|PREFIX|TITLE]", help="Which one; without it: the only one.", show_default=False)
]


@agents_app.callback()
def agents_root(context: typer.Context, json: Json = False) -> None:
    if context.invoked_subcommand is None:
        agents_list(json)


@agents_app.command("list")
def agents_list(json: Json = False) -> None:
    """What runs without a terminal, newest first."""
    from agent_core.cli.agents import list_agents

    list_agents(json=json)


@agents_app.command("attach")
def agents_attach(session: Which = "") -> None:
    """Go on with one in this terminal; leaving it lets it run."""
    from agent_core.cli.agents import session_meant
    from agent_core.cli.start import converse

    converse(["--resume", session_meant(session)])


@agents_app.command("stop")
def agents_stop(session: Which = "") -> None:
    """Stop one; what it did is kept."""
    from agent_core.cli.agents import stop_agent

    stop_agent(session)


@sessions_app.callback()
def sessions_root(context: typer.Context, json: Json = False) -> None:
    if context.invoked_subcommand is None:
        from agent_core.cli.kept.sessions import list_sessions

        list_sessions(json=json)


@sessions_app.command("list")
def sessions_list(json: Json = False) -> None:
    """All sessions, newest first."""
    from agent_core.cli.kept.sessions import list_sessions

    list_sessions(json=json)


@sessions_app.command("show")
def sessions_show(session: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """What was said and done in a session."""
    from agent_core.cli.kept.sessions import show_session

    show_session(session)


@sessions_app.command("rename")
def sessions_rename(
    session: Annotated[str, typer.Argument(metavar="ID")], title: Annotated[str, typer.Argument(metavar="TITLE")]
) -> None:
    """Give a session a title."""
    from agent_core.cli.kept.sessions import rename_session

    rename_session(session, title)


@sessions_app.command("fork")
def sessions_fork(session: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Start a new session from a copy of this one; prints the new id."""
    from agent_core.cli.kept.sessions import fork_session

    fork_session(session)


@sessions_app.command("compact")
def sessions_compact(session: Annotated[str, typer.Argument(metavar="ID|PREFIX|TITLE")]) -> None:
    """Make a session's conversation shorter before it goes on. Its file keeps everything."""
    from agent_core.cli.kept.compacting import compact_session

    compact_session(session)


@sessions_app.command("delete")
def sessions_delete(session: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Delete a session for good. A session that a process hosts is not deleted."""
    from agent_core.cli.kept.sessions import delete_session

    delete_session(session)
