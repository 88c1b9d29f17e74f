"""The file by which a process says that it listens, and where: written whole or not at all, for its owner only.

Whoever started the process waits for the file; what it holds is the affair of the two.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

POLL_S = 0.01


def write_ready_file(path: Path, facts: Mapping[str, object]) -> None:
    """Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(facts, file)
        file.write("\n")
    temporary.replace(path)


async def wait_ready(process: asyncio.subprocess.Process, path: Path, limit_s: float) -> bytes | None:
    """What `process` wrote once it listens; None if it ended or took longer than `limit_s`."""
    try:
        async with asyncio.timeout(limit_s):
            while process.returncode is None and not path.exists():  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        return None
    return path.read_bytes() if path.exists() else None


def wait_ready_blocking(ended: Callable[[], bool], path: Path, limit_s: float) -> bytes | None:
    """The same where nothing else goes on."""
    give_up_s = time.monotonic() + limit_s
    while not path.exists():
        if ended() or time.monotonic() > give_up_s:
            return None
        time.sleep(POLL_S)
    return path.read_bytes()
