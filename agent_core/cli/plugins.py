"""Commands of the other packages: their one-line helps are here, the commands themselves come by entry points.

An entry point of the group `loopline.commands` names a function `main(arguments: list[str]) -> None` that parses its
own options; it is looked up only when its command runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import typer

from agent_core.errors import UsageError

GROUP = "loopline.commands"

COMMANDS: Mapping[str, str] = {
    "acp": "The agent for every editor that speaks the Agent Client Protocol.",
    "lsp": "The language server: hosts the agent for every editor.",
    "tui": "The terminal dashboard: live turns, waterfalls, cache and reuse.",
    "web": "The browser dashboard, for this machine or a team.",
}

_RAW = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add a command for each that other packages bring."""
    for name, text in COMMANDS.items():
        app.command(name, help=text, context_settings=_RAW, add_help_option=False)(_runner(name))


def register_part(app: typer.Typer, name: str, text: str, *, of: str) -> None:
    """Add, under the same name, a command below the command `of` of another package."""
    app.command(name, help=text, context_settings=_RAW, add_help_option=False)(_runner(of, name))


def _runner(name: str, *first: str) -> Callable[[typer.Context], None]:
    def command(context: typer.Context) -> None:
        _load(name)([*first, *context.args])

    return command


def _load(name: str) -> Callable[[list[str]], None]:
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP, name=name)
    for entry in found:
        main: Callable[[list[str]], None] = entry.load()
        return main
    raise UsageError(f"`loopline {name}` is not installed", hint="install Loopline anew: pip install --force-reinstall")
