"""The life of a server process: its log, the signals that end it, and an end in time."""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import os
import signal
import threading
from collections.abc import Mapping

from agent_core.config.paths import state_dir
from agent_core.telemetry.log_lines import CleanFormatter, handler_to_stderr

GRACE_S = 0.9
"""From the end of the last client to the end of the process, at most."""
KEPT_LOGS = 5


def end_in_time(code: int) -> None:
    """From now on the process has `GRACE_S` seconds; then it ends with `code`, whatever holds it."""
    watchdog = threading.Timer(GRACE_S, os._exit, (code,))
    watchdog.daemon = True
    watchdog.start()


def told_to_end(*, hang_up_ends: bool) -> asyncio.Future[int]:
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


def log_to(env: Mapping[str, str], name: str, *, to_stderr: bool, silent: tuple[str, ...] = ()) -> None:
    """Warnings to standard error and to a file of this process, `NAME-PID.log`; a few files are kept. `silent` are
    loggers of libraries that write bodies of messages: nothing of theirs is written."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    form = CleanFormatter()
    handlers: list[logging.Handler] = [handler_to_stderr()] if to_stderr else []
    folder = state_dir(env) / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in sorted(folder.glob(f"{name}-*.log"), key=lambda path: path.stat().st_mtime)[: -KEPT_LOGS or None]:
            old.unlink(missing_ok=True)
        file = folder / f"{name}-{os.getpid()}.log"
        handlers.append(logging.handlers.RotatingFileHandler(file, maxBytes=1 << 20, backupCount=1, delay=True))
    except OSError:
        handlers = handlers or [logging.NullHandler()]
    for handler in handlers:
        handler.setFormatter(form)
        handler.setLevel(logging.WARNING)
        root.addHandler(handler)
    for each in silent:
        logging.getLogger(each).setLevel(logging.CRITICAL + 1)
    logging.getLogger("websockets").setLevel(logging.WARNING)
