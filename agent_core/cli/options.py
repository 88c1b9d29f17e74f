"""Options that `run` and the conversation share, so that both are called and explained alike. Those that are settings
come from the table of settings; the others are here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_core.config.settings import SETTINGS, Setting
from agent_core.telemetry.screen import say

GoOn = Annotated[bool, typer.Option("-c", "--continue", help="Go on with this folder's latest session.")]
Workspace = Annotated[
    Path | None, typer.Option("-w", "--workspace", metavar="DIR", help="Folder to work in. [default: this folder]")
]
AddDir = Annotated[
    list[Path] | None,
    typer.Option("--add-dir", metavar="DIR", help="A further folder to read and edit in; again for another."),
]
Plan = Annotated[
    bool,
    typer.Option("--plan", help="Change nothing, and answer with a plan; commands run where they can write nothing."),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting, this once; again for another. `loopline config` lists the keys.",
    ),
]

OFFERED = tuple(setting for setting in SETTINGS if setting.row.option is not None)
"""Settings with an option of their own."""

HERE = "settings"
"""Name of the parameter of a command in whose place the options of settings come."""


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with an option for each setting of `OFFERED` in place of its parameter `settings`, which gets what was
    given, by field, and `--set` beside it."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())
    at = next(index for index, parameter in enumerate(own) if parameter.name == HERE)
    taken = [_parameter(setting) for setting in OFFERED]
    pairs = inspect.Parameter("pairs", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Pairs)
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]

    def run(**given: Any) -> None:
        told = {setting.field: given.pop(setting.field) for setting in OFFERED}
        flags = flags_of(told, given.pop("pairs") or ())
        command(**given, settings=flags)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature([*keyword[:at], *taken, *keyword[at + 1 :], pairs])  # type: ignore[attr-defined]
    return run


def flags_of(told: Mapping[str, str | None], pairs: Sequence[str]) -> dict[str, Any]:
    """Settings by field, as `load` takes them: those that were given, over what `--set` says. Raises UsageError."""
    from agent_core.cli.overrides import read_overrides

    meant = {**told, "approve": approve_of(told.get("approve")), "python": program_of(told.get("python"))}
    return read_overrides(pairs) | {field: value for field, value in meant.items() if value is not None}


def approve_of(given: str | None) -> str | None:
    """The setting that `--approve` means. Its `deny` is the setting's `never`; the old name gets a word about it."""
    if given == "never":
        say("loopline: `--approve never` is called `--approve deny` now")
    return "never" if given == "deny" else given


def program_of(given: str | None) -> str | None:
    """A path is meant from here, not from the workspace; a bare name is looked for on PATH."""
    return str(Path(given).expanduser().absolute()) if given and "/" in given else given


@functools.cache
def _parameter(setting: Setting) -> inspect.Parameter:
    option = setting.row.option
    assert option is not None
    info = typer.Option(setting.flag, metavar=option.metavar, help=option.help)
    return inspect.Parameter(
        setting.field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, info]
    )
