"""Running responses by id: cancelled from anywhere by their owner, and by nobody else."""

from __future__ import annotations

import asyncio

from agent_core.responses_server.admission.in_flight import InFlight
from agent_core.wire.response import Response


async def test_a_cancel_waits_for_the_end() -> None:
    running, asked = InFlight(), asyncio.Event()

    async def cancel() -> None:
        asked.set()

    running.add("resp_1", "me", cancel)
    assert await running.cancel("resp_1", "you") is None
    assert await running.cancel("resp_2", "me") is None
    assert not asked.is_set()
    waiting = asyncio.create_task(running.cancel("resp_1", "me"))
    async with asyncio.timeout(30):
        await asked.wait()
        ended = Response(id="resp_1", status="cancelled")
        running.remove("resp_1", ended)
        assert await waiting is ended
    assert await running.cancel("resp_1", "me") is None
    running.remove("resp_1", None)


async def test_a_cancel_that_meets_a_completed_response_cancels_nothing() -> None:
    """The last event leaves before the response is taken off the list: a cancel in between came too late."""
    running = InFlight()

    async def cancel() -> None:
        running.remove("resp_1", Response(id="resp_1", status="completed"))

    running.add("resp_1", "me", cancel)
    assert await running.cancel("resp_1", "me") is None
