"""Commands of a session: each runs to its end, to a limit, or until cancelled, and leaves nothing behind.

All processes that a command started end with it, also those it left in the background. What still got away, by closing
all its files and leaving its session, ends when the session does.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from agent_core.tools.process_family import kill_marked
from agent_core.tools.running import KILL_PAUSE_S, KILL_ROUNDS, Command, Outcome, Running


class Processes:
    """Runs the commands of one session, confined by `wrap`. Call `close` at its end."""

    def __init__(self, wrap: Callable[[Command], Command] = lambda command: command) -> None:
        self._wrap = wrap
        self._mark = secrets.token_hex(8)
        self._count = 0

    async def run(self, command: Command, progress: Callable[[str], None] = lambda line: None) -> Outcome:
        """Raises ToolError if the program can't be started, and CancelledError after everything was killed."""
        running = self.start(command, progress)
        try:
            await running.wait()
            await running.settle()
            return running.outcome()
        except asyncio.CancelledError:
            await running.end()
            raise
        finally:
            running.close()

    def start(self, command: Command, progress: Callable[[str], None] = lambda line: None) -> Running:
        """A command that goes on by itself; the caller ends and closes it."""
        self._count += 1
        return Running(self._wrap(command), f"{self._mark}.{self._count}", progress)

    async def close(self) -> None:
        """End what is left of any command."""
        for _ in range(KILL_ROUNDS if self._count else 0):
            if not kill_marked(self._mark):
                return
            await asyncio.sleep(KILL_PAUSE_S)
