"""The start of every command line: the conversation, which needs no commands and no parser of them, or a command."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence

from agent_core.errors import LooplineError
from agent_core.telemetry.screen import guard_streams, say

CONVERSATION = "dashboard.agent.cli"
"""The module whose `main` is the conversation, which has no command's name: `loopline`, `loopline "a task"`,
`loopline -c`. It is known by name: looking through what is installed takes a tenth of the time to its prompt."""

OF_THE_ROOT = ("--version", "--help", "-h")
_WORD = re.compile(r"[a-z][a-z0-9-]*")
"""What a command may be called."""


def run_command_line() -> None:
    """Run what `sys.argv` says; every error of ours becomes one line, a hint and its exit code."""
    guard_streams()
    try:
        if is_interactive(sys.argv[1:]) and sys.stdin.isatty() and sys.stdout.isatty():
            converse(sys.argv[1:])
        else:
            from agent_core.cli.app import app

            app()
    except LooplineError as error:
        say(f"loopline: {error.message}")
        if error.hint:
            say(f"  hint: {error.hint}")
        sys.exit(error.exit_code)


def converse(arguments: list[str]) -> None:
    """The conversation, with its options; it ends the process."""
    importlib.import_module(CONVERSATION).main(arguments)


def is_interactive(arguments: Sequence[str]) -> bool:
    """Whether a command line means the conversation. Not so for an option of the root, and one lower-case word, which
    is a command or a command's name that was mistyped; behind `--` it is a task."""
    if not arguments:
        return True
    first = arguments[0]
    return first not in OF_THE_ROOT and (first.startswith("-") or _WORD.fullmatch(first) is None)
