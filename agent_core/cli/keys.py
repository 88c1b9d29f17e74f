"""`loopline auth`: keys in and out of safe-keeping; they are read from standard input and never shown."""

from __future__ import annotations

import getpass
import os
import sys

from agent_core.cli.terminal import make_console
from agent_core.errors import UsageError
from agent_core.keys import Keys


def read_secret(what: str) -> str:
    """One line from standard input; on a terminal it is asked for without echo."""
    if sys.stdin.isatty():
        return getpass.getpass(f"{what}: ")
    return sys.stdin.readline()


def set_key(provider: str) -> None:
    keys = Keys(os.environ)
    keys.set(provider, read_secret(f"key of {provider}"))
    make_console().print(f"The key of {provider} is kept in {keys.where}.", highlight=False, soft_wrap=True)


def show_key(provider: str) -> int:
    source = Keys(os.environ).source(provider)
    console = make_console()
    if source is None:
        console.print(f"No key of {provider} is set: `loopline auth set {provider}`", highlight=False)
        return 1
    console.print(f"The key of {provider} comes from {source}.", highlight=False, soft_wrap=True)
    return 0


def remove_key(provider: str) -> None:
    if not Keys(os.environ).remove(provider):
        raise UsageError(f"no key of {provider} is kept")
