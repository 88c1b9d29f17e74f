"""Work after the terminal frame: telemetry and the durable store, while the next request is served.

Owns its tasks; `drain` waits for them. What must be visible to the next request at once (the store's `put`) happens
before the terminal frame leaves, what must be durable happens here.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from agent_core.errors import StateError
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.state.store import ResponseStore
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import ServiceCall

log = logging.getLogger(__name__)


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """What is settled for one response. `stored`: the store holds it and must make it durable.

    `screened`: code of the screen that flagged or blocked its input, "" for none.
    """

    response_id: str
    connection: str
    lane: str | None
    stages: Stages
    new_tokens: int
    reused_tokens: int
    tools_ignored: int
    screened: str
    stored: bool


class Settlement:
    """`overlap` False settles before the response ends (to measure what overlapping gives)."""

    def __init__(self, store: ResponseStore, emitter: Emitter, *, overlap: bool = True) -> None:
        self._store, self._emitter = store, emitter
        self.overlap = overlap
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, bill: Bill) -> None:
        """Settle in the background."""
        task = asyncio.create_task(self.settle(bill))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self, bill: Bill) -> None:
        with bill.stages.timed("settle"):
            if bill.stored:
                try:
                    await self._store.flush()
                except StateError as error:
                    log.error("a response could not be stored: %s", error.code)
        self._emitter.emit(
            ServiceCall(
                response_id=bill.response_id,
                connection=bill.connection,
                lane=bill.lane,
                stages_ms=bill.stages.as_ms(),
                new_tokens=bill.new_tokens,
                reused_tokens=bill.reused_tokens,
                tools_ignored=bill.tools_ignored,
                screened=bill.screened or None,
            )
        )

    async def drain(self) -> None:
        """Wait until everything started is settled."""
        while self._tasks:
            await asyncio.wait(self._tasks)
