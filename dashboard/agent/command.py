"""The interactive session: what the command line calls."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent_core.clock import SystemClock
from agent_core.errors import UsageError
from agent_core.telemetry.screen import say
from agent_core.variables import variables
from dashboard.agent.sessions.options import AgentOptions

if TYPE_CHECKING:
    from dashboard.agent.app import AgentApp
    from dashboard.agent.leash import Leash

PLAIN_TERMINALS = ("", "dumb", "unknown")


def agent_command(options: AgentOptions) -> int:
    """Run the conversation until it is left; the exit code. Raises UsageError and ConfigError before anything is
    drawn."""
    options, root = settled(options)
    if options.plain or variables().get("TERM", "") in PLAIN_TERMINALS:
        from dashboard.agent.plain import converse

        return converse(options)
    from dashboard.agent.ending import EXIT, Ending
    from dashboard.agent.leash import on_a_leash

    leash = on_a_leash()
    from dashboard.agent.app import AgentApp
    from dashboard.agent.keys_of_terminals import know_more_keys

    know_more_keys()
    if not sys.stderr.isatty():
        os.dup2(1, 2)  # Textual draws on standard error
    app = AgentApp(options, root=root, clock=SystemClock())
    with Ending(lambda: app.end_from_signal(EXIT)) as ending:
        code = asyncio.run(_run(app, options, leash))
    if app.failure is not None:
        raise app.failure
    return EXIT if ending.by_signal else code if code is not None else app.return_code or 0


async def _run(app: AgentApp, options: AgentOptions, leash: Leash) -> int | None:
    """The conversation, and what goes on after it without a terminal."""
    loop = asyncio.get_running_loop()
    loop.add_reader(leash.alive, _parent_gone, loop, leash.alive)
    code = await app.run_async(mouse=options.mouse)
    loop.remove_reader(leash.alive)
    if app.stays is not None and app.desk is not None:
        from dashboard.agent.background import stay

        say("It goes on in the background. `loopline agents` lists it, `loopline agents attach` takes it up again.")
        await stay(app.desk, app.stays, leash)
    return code


def _parent_gone(loop: asyncio.AbstractEventLoop, alive: int) -> None:
    loop.remove_reader(alive)
    os.kill(os.getpid(), signal.SIGHUP)


def settled(options: AgentOptions) -> tuple[AgentOptions, Path]:
    """The options with the session that they name by its id, and the folder of the conversation."""
    if options.workspace is not None and not options.workspace.is_dir():
        raise UsageError(f"no such folder: {options.workspace}", hint="name an existing folder with --workspace")
    root = (options.workspace or Path()).resolve()
    if options.latest or options.resume:
        from agent_core.agent import finding
        from agent_core.agent.archive import Archive
        from agent_core.config.paths import state_dir
        from agent_core.hosting.resume import read_header, roots_of

        folder = state_dir(variables()) / "sessions"
        entries = Archive(folder).entries()
        entry = finding.meant(entries, options.resume) if options.resume else finding.latest(entries, root)
        options = msgspec.structs.replace(options, resume=entry.id)
        if options.workspace is None:
            root = roots_of(read_header(folder, entry.id))[0]
    return options, root
