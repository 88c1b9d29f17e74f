"""One client, served by an agent until either is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agent_core.clock import SystemClock
from lsp_server.acp.agent import Agent
from lsp_server.acp.greeting import Opening
from lsp_server.process import Process
from lsp_server.transport.pipes import Pipes

CANCEL_S = 0.5
"""How long turns may take to end once their client is gone."""
DRAIN_S = 0.2
"""How long the last answers may take to leave."""


async def serve(env: Mapping[str, str], pipes: Pipes, opening: Opening) -> None:
    """Back once the client is gone, or reads no more, and its turns are kept."""
    process = Process(env, SystemClock())
    agent = Agent(process, opening.read, opening.can)

    async def write() -> None:
        while batch := await agent.peer.batch():
            await pipes.write(batch)
            agent.peer.written(batch)

    reading = asyncio.create_task(agent.peer.serve(), name="reading")
    writing = asyncio.create_task(write(), name="writing")
    lost = asyncio.create_task(agent.peer.lost.wait(), name="lost")
    tasks: set[asyncio.Task[Any]] = {reading, writing, lost}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()  # nothing that a client still sends is begun any more
        await process.manager.cancel_turns(CANCEL_S)
        agent.desk.leave()
        await agent.peer.end()
        await asyncio.wait({writing}, timeout=DRAIN_S)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await process.close()
