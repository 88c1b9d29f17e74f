"""The options of `loopline` without a command."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from agent_core.cli.options import AddDir, GoOn, Plan, Workspace, with_settings
from agent_core.errors import UsageError


def parse(arguments: list[str]) -> None:
    """Read them and run the interactive session."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(agent)
    app(_resume_alone(arguments), prog_name="loopline")


def _resume_alone(arguments: list[str]) -> list[str]:
    """`-r` without a value asks which session: an empty value says so."""
    found = list(arguments)
    for at, argument in enumerate(found):
        if argument == "--":
            break
        if argument in ("-r", "--resume") and (at + 1 == len(found) or found[at + 1].startswith("-")):
            found.insert(at + 1, "")
            break
    return found


@with_settings
def agent(
    *,
    task: Annotated[str, typer.Argument(metavar="[TASK]", help="The first message.", show_default=False)] = "",
    go_on: GoOn = False,
    resume: Annotated[
        str | None,
        typer.Option("-r", "--resume", metavar="[ID|PREFIX|TITLE]", help="Go on with an earlier session, in its folder "
                     "and with its model; without a value: choose one."),
    ] = None,
    workspace: Workspace = None,
    settings: Mapping[str, Any],
    add_dir: AddDir = None,
    plan: Plan = False,
    theme: Annotated[
        str | None, typer.Option(metavar="dark|light|ansi-dark|ansi-light", help="Colours. [default: dark]")
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Lines that go by, for screen readers; so it is where TERM is dumb.")
    ] = False,
    mouse: Annotated[
        bool, typer.Option("--mouse", help="Wheel and clicks come here; the terminal's own selection then needs Shift.")
    ] = False,
) -> None:  # fmt: skip
    """A conversation with the agent, in this folder.

    Enter sends, /help lists keys and commands, Ctrl+D leaves.
    """
    from dashboard.agent.command import agent_command
    from dashboard.agent.sessions.options import AgentOptions

    if go_on and resume is not None:
        raise UsageError("--continue and --resume exclude each other")
    sys.exit(
        agent_command(
            AgentOptions(
                task=task,
                workspace=workspace,
                resume=resume,
                latest=go_on,
                flags=settings,
                added=tuple(add_dir or ()),
                plan=plan,
                plain=plain,
                mouse=mouse,
                theme=_theme(theme),
            )
        )
    )


def _theme(name: str | None) -> str | None:
    if name is None:
        return None
    names = {"dark": "loopline-dark", "light": "loopline-light", "ansi-dark": "ansi-dark", "ansi-light": "ansi-light"}
    if name not in names:
        raise UsageError(f"no theme is named {name[:40]!r}", hint=f"one of {', '.join(names)}")
    return names[name]
