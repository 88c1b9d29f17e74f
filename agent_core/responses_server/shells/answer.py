"""The sink of one response over WebSocket, and the task that makes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agent_core.errors import LooplineError
from agent_core.protocol.lanes import Head, Outcome, Ticket
from agent_core.responses_server.output.event_builder import Frame
from agent_core.responses_server.pipeline.active import Call, Stop
from agent_core.responses_server.shells.refusals import refusal_data
from agent_core.responses_server.state.chain import ChainState


class Connection(Protocol):
    """What an answer needs of its connection."""

    async def write(self, frames: Sequence[bytes]) -> None:
        """Send text frames together. Raises ConnectionLost if the peer is gone."""

    async def finished(
        self, ticket: Ticket, frames: Sequence[bytes], outcome: Outcome, head: Head[ChainState] | None
    ) -> None:
        """Free the lane as the terminal frames leave."""

    def sent(self, ticket: Ticket) -> None:
        """An event left."""


class Answer:
    """`ticket` None: the response never ran on its lane, which so has nothing to free."""

    def __init__(self, connection: Connection, ticket: Ticket | None, call: Call) -> None:
        self._connection, self._ticket, self.call = connection, ticket, call
        self._writing = False
        self._task: asyncio.Task[None] | None = None
        self._begun = False
        self.ended = False

    def start(self, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Make the response in a task of its own."""
        task = self._task = asyncio.create_task(self._begin(run))
        return task

    async def _begin(self, run: Callable[[], Awaitable[None]]) -> None:
        self._begun = True
        await run()

    def stop(self, cause: Stop) -> None:
        """Make the pipeline end the response.

        The task is not cancelled before its first step (it would never run, and nobody be answered) nor in the middle
        of a write (numbered events would be lost); there it sees the cause by itself.
        """
        self.call.stop = cause
        if self._task is not None and self._begun and not (self._writing and cause != "gone"):
            self._task.cancel()

    async def send(self, frames: Sequence[Frame]) -> None:
        stop, self._writing = self.call.stop, True
        if self._ticket is not None:
            self._ticket.steerable = self.call.steerable is True
        try:
            await self._connection.write([frame.data for frame in frames])
        finally:
            self._writing = False
        if self._ticket is not None:
            self._connection.sent(self._ticket)
        if self.call.stop is not stop:
            raise asyncio.CancelledError

    async def end(self, frames: Sequence[Frame], outcome: Outcome, head: Head[ChainState] | None) -> None:
        await self._finish([frame.data for frame in frames], outcome, head)

    async def refuse(self, error: LooplineError) -> None:
        if self._ticket is not None and self._ticket.is_successor:
            await self._finish([], Outcome.FAILED, None)
            return
        lane = self._ticket.lane if self._ticket is not None else None
        await self._finish([refusal_data(None, error, lane)], Outcome.FAILED, None)

    async def _finish(self, frames: list[bytes], outcome: Outcome, head: Head[ChainState] | None) -> None:
        self.ended = True
        if self._ticket is None:
            await self._connection.write(frames)
        else:
            await self._connection.finished(self._ticket, frames, outcome, head)
