"""The commands and their options. A command's own modules are imported when it runs, so that `--help` stays quick."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_core.cli import manage, plugins
from agent_core.cli.options import AddDir, GoOn, Plan, Workspace, with_settings
from agent_core.config.serve import OPTIONS, ServeOption
from agent_core.telemetry.screen import put, say

app = typer.Typer(
    name="loopline",
    help="A coding agent that keeps one WebSocket open to the model and shows where every millisecond and token goes."
    "\n\n"
    'Without a command, on a terminal: a conversation in this folder. `loopline "a task"` begins with it, -c goes on '
    "with the folder's latest session, -r with another one; `loopline -c --help` lists all options.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="One JSON object per line on stdout; the last is the summary.")]


manage.register(app)
plugins.register(app)


@app.command()
@with_settings
def run(
    *,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to do, in words. `-` reads it from stdin.")],
    workspace: Workspace = None,
    settings: Mapping[str, Any],
    add_dir: AddDir = None,
    plan: Plan = False,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the final answer alone.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the final answer to FILE as well.")
    ] = None,
    output_schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON Schema that the final answer keeps to; with --json the summary's "
                     "`answer` is the object. An answer that is no JSON: exit code 1."),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Go on with an earlier session, in its folder and with its model; by id, an "
                     "unambiguous beginning of it, or title."),
    ] = None,
    go_on: GoOn = False,
) -> None:  # fmt: skip
    """Do one task in a folder, then show what it took.

    With neither OPENAI_API_KEY nor a base URL set, the embedded service answers with the model `repair`, a search over
    program edits that fixes failing Python tests.

    Exit codes: 0 done, 1 the task failed, 2 usage or configuration, 3 no service could be reached, 130 interrupted.
    """
    from agent_core.cli.run import RunOptions, read_schema, run_task

    sys.exit(
        run_task(
            RunOptions(
                task=task,
                workspace=workspace,
                added=tuple(add_dir or ()),
                flags=settings,
                json=json,
                resume=resume,
                mode="plan" if plan else "act",
                go_on=go_on,
                quiet=quiet,
                output=output,
                schema=read_schema(output_schema) if output_schema is not None else None,
            )
        )
    )


@app.command()
def demo(
    json: Json = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Leave the repaired sample in DIR (new or empty).")
    ] = None,
) -> None:
    """Watch an agent fix a failing test over one WebSocket, then the same over HTTP. Needs no key."""
    from agent_core.cli.demo import run_demo

    sys.exit(run_demo(json=json, keep=keep))


def _with_serve_options(command: Callable[[Mapping[str, Any]], None]) -> Callable[..., None]:
    """`command` with an option of its own for each row of the table; it gets what was given by name."""

    def run(**given: Any) -> None:
        command(given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature([_parameter(option) for option in OPTIONS])  # type: ignore[attr-defined]
    return run


def _parameter(option: ServeOption) -> inspect.Parameter:
    info = typer.Option(option.flag, metavar=option.metavar, help=option.help, hidden=not option.help)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[option.kind, info],
    )


@app.command()
@_with_serve_options
def serve(given: Mapping[str, Any]) -> None:
    """Run the Responses service: HTTP and WebSocket under /v1, models `repair`, `scripted` and those of --engine."""
    from agent_core.cli.serving.command import serve_command

    sys.exit(serve_command(given))


@app.command()
def bench(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where bench.json, bench.md and bench.svg go.")],
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this scenario; repeatable.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter runs where a scenario has them, to see that it works.")
    ] = False,
) -> None:
    """Measure, and write the figures; compare ratios within one run only."""
    from agent_core.bench import scale
    from agent_core.bench.suite import run as run_suite

    if quick:
        os.environ[scale.QUICK] = "1"

    run_suite(out, tuple(only or ()), say)


def _version(value: bool) -> None:
    if value:
        from agent_core import __version__

        put(f"loopline {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of all commands."""
