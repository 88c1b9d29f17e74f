"""`loopline sessions compact`: an earlier session's conversation made shorter, wherever it is hosted."""

from __future__ import annotations

import asyncio

from agent_core.agent import finding
from agent_core.agent.archive import Archive
from agent_core.cli.console import make_console
from agent_core.clock import SystemClock
from agent_core.config.paths import state_dir
from agent_core.errors import LooplineError
from agent_core.hosting.manager import OpenOptions, SessionManager
from agent_core.hosting.session import HostOptions
from agent_core.telemetry.display import clean
from agent_core.turns.events import ContextSize, Notice, TurnEvent
from agent_core.variables import variables

LONGEST_S = 600.0
"""A summary by a slow model takes minutes."""


def compact_session(session: str) -> None:
    """`session`: an id, the beginning of one, or a title. Raises LooplineError."""
    entries = Archive(state_dir(variables()) / "sessions").entries()
    asyncio.run(_compact(finding.meant(entries, session).id))


async def _compact(session_id: str) -> None:
    console, over = make_console(), asyncio.Event()

    def observe(event: TurnEvent) -> None:
        if isinstance(event, Notice):
            console.print(clean(event.text), soft_wrap=True)
        if isinstance(event, Notice | ContextSize):
            over.set()

    env = variables()
    hosted = HostOptions(roots=(), client="cli", resume=session_id, as_it_was=True, env=env)
    manager = SessionManager(env, SystemClock())
    try:
        async with asyncio.timeout(LONGEST_S):
            options = OpenOptions(settings=lambda model: hosted, observer=observe, wait=True)
            session = await manager.open(session_id, options)
            over.clear()
            await session.compact()
            await over.wait()
            await session.ready()
    except TimeoutError:
        raise LooplineError(f"not done after {LONGEST_S:.0f} s", code="timeout") from None
    finally:
        await manager.close()
