"""Waiting for what tells nobody of its change, with a bound that only a hang exceeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

WAIT_S = 60.0
POLL_S = 0.005


async def eventually(check: Callable[[], T | None], timeout_s: float = WAIT_S) -> T:
    """What `check` gives once that is true; the loop runs in between. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        while not (found := check()):  # noqa: ASYNC110 - nothing could set an event
            await asyncio.sleep(POLL_S)
    return found


async def lines_of_file(file: Path, lines: int = 1) -> list[str]:
    """The whole lines of a file that another process writes, once it has so many."""

    def check() -> list[str] | None:
        found = file.read_text().split("\n")[:-1] if file.exists() else []
        return found if len(found) >= lines else None

    return await eventually(check)
