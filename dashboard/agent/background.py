"""A session without its terminal: until nothing runs any more and nobody follows it, or until it is stopped."""

from __future__ import annotations

import asyncio
import signal

from agent_core.clock import SystemClock, rfc3339
from agent_core.hosting.background import noted
from agent_core.variables import variables
from dashboard.agent.leash import Leash
from dashboard.agent.sessions.desk import SessionDesk

LOOK_S = 1.0
"""How often it is looked whether something still runs."""
STOP_S = 10.0


async def stay(desk: SessionDesk, session_id: str, leash: Leash) -> None:
    """Let the terminal go, then host the session to its end. Closes the desk."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        with noted(variables(), session_id, rfc3339(SystemClock().wall_ns())):
            leash.let_go()
            while (desk.busy or desk.attended) and not stopped.is_set():
                try:
                    async with asyncio.timeout(LOOK_S):
                        await stopped.wait()
                except TimeoutError:
                    continue
            await desk.cancel_turns(STOP_S)
    finally:
        await desk.close()
