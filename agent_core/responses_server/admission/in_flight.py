"""The responses that run now, by id: so that one can be cancelled from anywhere, not only on its own connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from agent_core.wire.response import Response


class Running(msgspec.Struct, eq=False):
    """`owner`: name of the API key. `cancel` asks the response to end; `done` has it as it ended, None if refused."""

    owner: str
    cancel: Callable[[], Awaitable[None]]
    done: asyncio.Future[Response | None]


class InFlight:
    """One per service."""

    def __init__(self) -> None:
        self._running: dict[str, Running] = {}

    def __len__(self) -> int:
        return len(self._running)

    def add(self, response_id: str, owner: str, cancel: Callable[[], Awaitable[None]]) -> None:
        done: asyncio.Future[Response | None] = asyncio.get_running_loop().create_future()
        self._running[response_id] = Running(owner, cancel, done)

    def remove(self, response_id: str, response: Response | None) -> None:
        """The response ended (None: it was never created). Unknown ids are passed over."""
        running = self._running.pop(response_id, None)
        if running is not None and not running.done.done():
            running.done.set_result(response)

    async def over(self) -> None:
        """Wait until all that run now have ended."""
        running = [each.done for each in self._running.values()]
        if running:
            await asyncio.wait(running)

    async def cancel(self, response_id: str, owner: str) -> Response | None:
        """Cancel a response and wait for its end; None if none with this id runs for this owner, or if it came to its
        own end before: its client may have the last event while its connection is still being tidied up."""
        running = self._running.get(response_id)
        if running is None or running.owner != owner:
            return None
        await running.cancel()
        response = await asyncio.shield(running.done)
        return response if response is not None and response.status == "cancelled" else None
