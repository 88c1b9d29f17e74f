"""`loopline acp`: one process, one client, and an end within a second of its going."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Mapping
from typing import Any

from agent_core.collector import calm_collector
from agent_core.variables import variables
from lsp_server.acp.greeting import Opening
from lsp_server.lifetime import end_in_time, log_to, told_to_end
from lsp_server.transport.pipes import Pipes


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
    signalled = told_to_end(hang_up_ends=True)
    serving = asyncio.create_task(_serve(env), name="serving")
    ends: set[asyncio.Future[Any]] = {serving, signalled}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    code = signalled.result() if signalled.done() else 0
    end_in_time(code)
    serving.cancel()
    await asyncio.wait({serving})
    logging.shutdown()
    os._exit(code)


async def _serve(env: Mapping[str, str]) -> None:
    pipes = Pipes()
    opening = Opening(pipes.read)
    if answer := await opening.answer():
        try:
            await pipes.write([answer])
        except OSError:
            return
    serving = await asyncio.to_thread(importlib.import_module, "lsp_server.acp.serving")
    await serving.serve(env, pipes, opening)
