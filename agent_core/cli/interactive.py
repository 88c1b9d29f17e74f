"""Whether a command line means the interactive session: `loopline`, `loopline "a task"`, `loopline -c`. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

PLUGIN = "agent"
"""The entry point that runs it."""

OF_THE_ROOT = ("--version", "--help", "-h")
_WORD = re.compile(r"[a-z][a-z0-9-]*")


def is_interactive(arguments: Sequence[str], commands: Collection[str]) -> bool:
    """Not so for a command, an option of the root, and one lower-case word, which is rather a command's name that was
    mistyped; behind `--` it is a task."""
    if not arguments:
        return True
    first = arguments[0]
    if first in commands or first in OF_THE_ROOT:
        return False
    return first.startswith("-") or _WORD.fullmatch(first) is None
