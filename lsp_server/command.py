"""`loopline lsp`: one process, one or many clients, and an end within a second of being asked for it."""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import os
import secrets
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from agent_core.clock import SystemClock
from agent_core.config import state_dir
from agent_core.errors import UsageError
from lsp_server.process import Process
from lsp_server.stdio import serve_stdio
from lsp_server.tcp import check_loopback, listening_tcp, split_address

GRACE_S = 0.9
"""From the end of the last client to the end of the process, at most."""
KEPT_LOGS = 5


def lsp_command(*, stdio: bool, tcp: str | None, ws: str | None, ready_file: Path | None) -> int:
    """Serve until the client exits (`stdio`, the default) or a signal comes. The process ends in here, so that nothing
    can hold it; the return value is its exit code. Raises UsageError for options that do not go together."""
    if sum((stdio, tcp is not None, ws is not None)) > 1:
        raise UsageError("--stdio, --tcp and --ws exclude each other")
    if ready_file is not None and tcp is None and ws is None:
        raise UsageError("--ready-file goes with --tcp or --ws")
    env = dict(os.environ)
    if tcp is not None:
        check_loopback(split_address(tcp, "--tcp")[0], "--tcp")
    if ws is not None:
        check_loopback(split_address(ws, "--ws")[0], "--ws")
    _log_to(env, to_stderr=True)
    code = asyncio.run(_main(env, tcp, ws, ready_file))
    logging.shutdown()
    os._exit(code)


async def _main(env: Mapping[str, str], tcp: str | None, ws: str | None, ready_file: Path | None) -> int:
    process = Process(env, SystemClock())
    signalled = _signalled()
    serving = asyncio.create_task(_serve(process, tcp, ws, ready_file), name="serving")
    await asyncio.wait({serving, signalled}, return_when=asyncio.FIRST_COMPLETED)
    code = serving.result() if serving.done() else signalled.result()
    watchdog = threading.Timer(GRACE_S, os._exit, (code,))
    watchdog.daemon = True
    watchdog.start()
    serving.cancel()
    await asyncio.wait({serving})
    await process.close()
    logging.shutdown()
    os._exit(code)


async def _serve(process: Process, tcp: str | None, ws: str | None, ready_file: Path | None) -> int:
    for_ever = asyncio.get_running_loop().create_future()
    if tcp is not None:
        async with listening_tcp(process, *split_address(tcp, "--tcp")) as url:
            _say_ready(ready_file, {"url": url, "pid": os.getpid()})
            await for_ever
    elif ws is not None:
        from lsp_server.websocket import listening_websocket

        token = secrets.token_urlsafe(32)
        async with listening_websocket(process, *split_address(ws, "--ws"), token) as url:
            _say_ready(ready_file, {"url": url, "token": token, "pid": os.getpid()})
            await for_ever
    return await serve_stdio(process)


def _signalled() -> asyncio.Future[int]:
    """Done with the exit code once the process is asked to end."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if not future.done():
            future.set_result(code)

    for number, code in ((signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)):
        loop.add_signal_handler(number, stop, code)
    return future


def _say_ready(ready_file: Path | None, facts: Mapping[str, object]) -> None:
    """The file holds the token, so only its owner may read it. Without a file the facts go to standard error, once."""
    if ready_file is None:
        print(f"loopline: {json.dumps(facts)}", file=sys.stderr, flush=True)  # noqa: T201
        return
    temporary = ready_file.with_name(f".{ready_file.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(facts, file)
    temporary.replace(ready_file)


def _log_to(env: Mapping[str, str], *, to_stderr: bool) -> None:
    """Warnings to standard error and to a file of this process; a few files are kept. No message body reaches either:
    pygls writes bodies at every level, so it writes nothing."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    form = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if to_stderr else []
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
