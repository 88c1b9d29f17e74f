"""Commands of a session: each runs to its end, to a limit, or until cancelled, and leaves nothing behind.

All processes that a command started end with it, also those it left in the background. What still got away, by closing
all its files and leaving its session, ends when the session does.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from agent_core.tools.commands.process_family import kill_marked
from agent_core.tools.commands.running import KILL_PAUSE_S, KILL_ROUNDS, Command, Outcome, Running
from agent_core.tools.commands.scratch import Scratch, open_scratch


class Confinement(Protocol):
    """What holds commands back."""

    def wrap(self, command: Command) -> Command:
        """The same command, confined."""

    def settle(self) -> list[str]:
        """A command is over and gone: what is to be told of what it left."""

    def scratch(self) -> AbstractContextManager[Scratch]:
        """A fresh folder that confined commands may write."""


class Processes:
    """Runs the commands of one session; `confinement` None: they can do what the user can. Call `close` at its end."""

    def __init__(self, confinement: Confinement | None = None) -> None:
        self._confinement = confinement
        self._mark = secrets.token_hex(8)
        self._count = 0

    async def run(self, command: Command, progress: Callable[[str], None] = lambda line: None) -> Outcome:
        """Raises ToolError if the program can't be started, and CancelledError after everything was killed."""
        running = self.start(command, progress)
        try:
            await running.wait()
            await running.settle()
            outcome = running.outcome()
        except asyncio.CancelledError:
            await running.end()
            raise
        finally:
            running.close()
            told = self.settle()
        return msgspec.structs.replace(outcome, told=tuple(told))

    def settle(self) -> list[str]:
        """To be called once for each command that was started, when it is gone; what is to be told of it."""
        return self._confinement.settle() if self._confinement is not None else []

    def start(self, command: Command, progress: Callable[[str], None] = lambda line: None) -> Running:
        """A command that goes on by itself; the caller ends and closes it, and calls `settle`."""
        self._count += 1
        confined = command if self._confinement is None else self._confinement.wrap(command)
        try:
            return Running(confined, f"{self._mark}.{self._count}", progress)
        except BaseException:
            self.settle()
            raise

    def scratch(self) -> AbstractContextManager[Scratch]:
        """A fresh folder for what a command reports beside its output."""
        return open_scratch() if self._confinement is None else self._confinement.scratch()

    async def close(self) -> None:
        """End what is left of any command."""
        for _ in range(KILL_ROUNDS if self._count else 0):
            if not kill_marked(self._mark):
                return
            await asyncio.sleep(KILL_PAUSE_S)
