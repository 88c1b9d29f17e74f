"""`loopline lsp`: one process, one or many clients, and an end within a second of being asked for it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.clock import SystemClock
from agent_core.collector import calm_collector
from agent_core.errors import UsageError
from agent_core.ready_file import write_ready_file
from agent_core.telemetry.screen import say
from agent_core.variables import variables
from lsp_server.lifetime import end_in_time, log_to, told_to_end
from lsp_server.process import Process
from lsp_server.transport.stdio import serve_stdio
from lsp_server.transport.tcp import check_loopback, listening_tcp, split_address

CANCEL_S = 0.7
"""How long turns may take to end once nobody waits for them any more."""
LOOK_S = 0.1
"""How often a process without an editor looks whether it is still needed."""


def lsp_command(*, stdio: bool, tcp: str | None, ws: str | None, ready_file: Path | None, linger_s: float = 0.0) -> int:
    """Serve until the client exits (`stdio`, the default) or a signal comes. The process ends in here, so that nothing
    can hold it; the return value is its exit code. `linger_s`: how long turns go on for an editor that went without
    `exit`, as one does whose window is loaded again; time in which somebody else is attached does not count.

    Raises UsageError for options that do not go together."""
    if sum((stdio, tcp is not None, ws is not None)) > 1:
        raise UsageError("--stdio, --tcp and --ws exclude each other")
    if ready_file is not None and tcp is None and ws is None:
        raise UsageError("--ready-file goes with --tcp or --ws")
    if linger_s and (tcp is not None or ws is not None):
        raise UsageError("--linger-s goes with --stdio; a server that listens outlives its clients anyway")
    env = variables()
    if tcp is not None:
        check_loopback(split_address(tcp, "--tcp")[0], "--tcp")
    if ws is not None:
        check_loopback(split_address(ws, "--ws")[0], "--ws")
    log_to(env, "lsp", to_stderr=True, silent=("pygls",))
    code = asyncio.run(_main(env, tcp, ws, ready_file, linger_s))
    logging.shutdown()
    os._exit(code)


async def _main(
    env: Mapping[str, str], tcp: str | None, ws: str | None, ready_file: Path | None, linger_s: float
) -> int:
    calm_collector()
    process = Process(env, SystemClock())
    signalled = told_to_end(hang_up_ends=not linger_s)
    serving = asyncio.create_task(_serve(process, tcp, ws, ready_file), name="serving")
    ends: set[asyncio.Future[Any]] = {serving, signalled}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if not signalled.done() and linger_s and serving.result() is None:
        lingering = asyncio.create_task(_linger(process, linger_s), name="lingering")
        ends = {lingering, signalled}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        lingering.cancel()
    code = signalled.result() if signalled.done() else serving.result()
    code = 1 if code is None else code
    end_in_time(code)
    serving.cancel()
    await asyncio.wait({serving})
    await process.close()
    logging.shutdown()
    os._exit(code)


async def _linger(process: Process, linger_s: float) -> None:
    """Until no turn runs or waits. Nobody reads any more what is printed: a pipe without a reader must harm nothing."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    left_s = linger_s
    while process.manager.busy and left_s > 0:
        await asyncio.sleep(LOOK_S)
        if not process.manager.attended:
            left_s -= LOOK_S
    await process.manager.cancel_turns(CANCEL_S)


async def _serve(process: Process, tcp: str | None, ws: str | None, ready_file: Path | None) -> int | None:
    for_ever = asyncio.get_running_loop().create_future()
    if tcp is not None:
        async with listening_tcp(process, *split_address(tcp, "--tcp")) as url:
            _say_ready(ready_file, {"url": url, "pid": os.getpid()})
            await for_ever
    elif ws is not None:
        from lsp_server.transport.websocket import listening_websocket

        token = secrets.token_urlsafe(32)
        async with listening_websocket(process, *split_address(ws, "--ws"), token) as url:
            _say_ready(ready_file, {"url": url, "token": token, "pid": os.getpid()})
            await for_ever
    return await serve_stdio(process)


def _say_ready(ready_file: Path | None, facts: Mapping[str, object]) -> None:
    """The file holds the token, so only its owner may read it. Without a file the facts go to standard error, once."""
    if ready_file is None:
        say(f"loopline: {json.dumps(facts)}")
        return
    write_ready_file(ready_file, facts)
