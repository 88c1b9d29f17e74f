"""`loopline lsp`: one process, one or many clients, and an end within a second of being asked for it."""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import os
import secrets
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.clock import SystemClock
from agent_core.collector import calm_collector
from agent_core.config import state_dir
from agent_core.errors import UsageError
from agent_core.ready_file import write_ready_file
from agent_core.telemetry.log_lines import CleanFormatter, handler_to_stderr
from agent_core.telemetry.screen import say
from agent_core.variables import variables
from lsp_server.process import Process
from lsp_server.transport.stdio import serve_stdio
from lsp_server.transport.tcp import check_loopback, listening_tcp, split_address

GRACE_S = 0.9
"""From the end of the last client to the end of the process, at most."""
KEPT_LOGS = 5
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
    _log_to(env, to_stderr=True)
    code = asyncio.run(_main(env, tcp, ws, ready_file, linger_s))
    logging.shutdown()
    os._exit(code)


async def _main(
    env: Mapping[str, str], tcp: str | None, ws: str | None, ready_file: Path | None, linger_s: float
) -> int:
    calm_collector()
    process = Process(env, SystemClock())
    signalled = _signalled(hang_up_ends=not linger_s)
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
    watchdog = threading.Timer(GRACE_S, os._exit, (code,))
    watchdog.daemon = True
    watchdog.start()
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


def _signalled(*, hang_up_ends: bool) -> asyncio.Future[int]:
    """Done with the exit code once the process is asked to end. A hang-up is the end of the editor's terminal."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if not future.done():
            future.set_result(code)

    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        loop.add_signal_handler(number, stop, code)
    loop.add_signal_handler(signal.SIGHUP, *((stop, 0) if hang_up_ends else (lambda: None,)))
    return future


def _say_ready(ready_file: Path | None, facts: Mapping[str, object]) -> None:
    """The file holds the token, so only its owner may read it. Without a file the facts go to standard error, once."""
    if ready_file is None:
        say(f"loopline: {json.dumps(facts)}")
        return
    write_ready_file(ready_file, facts)


def _log_to(env: Mapping[str, str], *, to_stderr: bool) -> None:
    """Warnings to standard error and to a file of this process; a few files are kept. No message body reaches either:
    pygls writes bodies at every level, so it writes nothing."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    form = CleanFormatter()
    handlers: list[logging.Handler] = [handler_to_stderr()] if to_stderr else []
    folder = state_dir(env) / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in sorted(folder.glob("lsp-*.log"), key=lambda path: path.stat().st_mtime)[: -KEPT_LOGS or None]:
            old.unlink(missing_ok=True)
        file = folder / f"lsp-{os.getpid()}.log"
        handlers.append(logging.handlers.RotatingFileHandler(file, maxBytes=1 << 20, backupCount=1, delay=True))
    except OSError:
        handlers = handlers or [logging.NullHandler()]
    for handler in handlers:
        handler.setFormatter(form)
        handler.setLevel(logging.WARNING)
        root.addHandler(handler)
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    logging.getLogger("websockets").setLevel(logging.WARNING)
