"""Whether a command line means the conversation, which needs no commands and no parser of them; and its start."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence

CONVERSATION = "dashboard.agent.cli"
"""The module whose `main` is the conversation, which has no command's name: `loopline`, `loopline "a task"`,
`loopline -c`. It is known by name: looking through what is installed takes a tenth of the time to its prompt."""

OF_THE_ROOT = ("--version", "--help", "-h")
_WORD = re.compile(r"[a-z][a-z0-9-]*")
"""What a command may be called."""


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
