"""Commands of the other packages: their one-line helps are here, the commands themselves come by entry points.

An entry point of the group `loopline.commands` names a function `main(arguments: list[str]) -> None` that parses its
own options; it is looked up only when its command runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import typer

from agent_core.errors import UsageError

GROUP = "loopline.commands"

INTERACTIVE = "agent"
"""The entry point of the conversation, which has no command's name: `loopline`, `loopline "a task"`, `loopline -c`."""

OF_THE_ROOT = ("--version", "--help", "-h")
_WORD = re.compile(r"[a-z][a-z0-9-]*")

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


def is_interactive(arguments: Sequence[str], commands: Collection[str]) -> bool:
    """Whether a command line means the conversation. Not so for a command, an option of the root, and one lower-case
    word, which is rather a command's name that was mistyped; behind `--` it is a task."""
    if not arguments:
        return True
    first = arguments[0]
    if first in commands or first in OF_THE_ROOT:
        return False
    return first.startswith("-") or _WORD.fullmatch(first) is None


def run(name: str, arguments: list[str]) -> None:
    """Run the entry point of that name, a command or not."""
    _load(name)(arguments)


def _runner(name: str) -> Callable[[typer.Context], None]:
    def command(context: typer.Context) -> None:
        _load(name)(list(context.args))

    return command


def _load(name: str) -> Callable[[list[str]], None]:
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP, name=name)
    for entry in found:
        main: Callable[[list[str]], None] = entry.load()
        return main
    raise UsageError(f"`loopline {name}` is not installed", hint="install Loopline anew: pip install --force-reinstall")
