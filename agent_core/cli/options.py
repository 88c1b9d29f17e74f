"""Options that `run` and the conversation share, so that both are called and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_core.telemetry.screen import say

GoOn = Annotated[bool, typer.Option("-c", "--continue", help="Go on with this folder's latest session.")]
Workspace = Annotated[
    Path | None, typer.Option("-w", "--workspace", metavar="DIR", help="Folder to work in. [default: this folder]")
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="Model of every call.")]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Responses service, ending in /v1; its key is OPENAI_API_KEY.")
]
Approve = Annotated[
    str | None,
    typer.Option(
        metavar="auto|ask|deny",
        help="ask: commands ask on the terminal. auto: nothing asks. deny: what would ask is denied. [default: ask]",
    ),
]
Transport = Annotated[
    str | None, typer.Option(metavar="auto|websocket|http", help="How to reach the service. [default: auto]")
]
Python = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Interpreter that runs the project's tests. [default: its own environment]"),
]


def approve_of(given: str | None) -> str | None:
    """The setting that `--approve` means. Its `deny` is the setting's `never`; the old name gets a word about it."""
    if given == "never":
        say("loopline: `--approve never` is called `--approve deny` now")
    return "never" if given == "deny" else given


def program_of(given: str | None) -> str | None:
    """A path is meant from here, not from the workspace; a bare name is looked for on PATH."""
    return str(Path(given).expanduser().absolute()) if given and "/" in given else given
