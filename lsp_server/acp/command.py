"""`loopline acp`: one process, one client, and an end within a second of its going."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import Any

from agent_core.clock import SystemClock
from agent_core.collector import calm_collector
from agent_core.variables import variables
from lsp_server.acp.agent import Agent
from lsp_server.lifetime import end_in_time, log_to, told_to_end
from lsp_server.process import Process
from lsp_server.transport.pipes import Pipes

CANCEL_S = 0.5
"""How long turns may take to end once their client is gone."""
DRAIN_S = 0.2
"""How long the last answers may take to leave."""


def acp_command() -> int:
    """Serve until the client goes or a signal comes. The process ends in here, so that nothing can hold it; the return
    value is its exit code."""
    env = variables()
    log_to(env, "acp", to_stderr=True)
    code = asyncio.run(_main(env))
    logging.shutdown()
    os._exit(code)


async def _main(env: Mapping[str, str]) -> int:
    calm_collector()
    process = Process(env, SystemClock())
    signalled = told_to_end(hang_up_ends=True)
    serving = asyncio.create_task(_serve(process), name="serving")
    ends: set[asyncio.Future[Any]] = {serving, signalled}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    code = signalled.result() if signalled.done() else 0
    end_in_time(code)
    serving.cancel()
    await asyncio.wait({serving})
    await process.close()
    logging.shutdown()
    os._exit(code)


async def _serve(process: Process) -> None:
    pipes = Pipes()
    agent = Agent(process, pipes.read)

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
        await process.manager.cancel_turns(CANCEL_S)
        agent.desk.leave()
        await agent.peer.end()
        await asyncio.wait({writing}, timeout=DRAIN_S)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
