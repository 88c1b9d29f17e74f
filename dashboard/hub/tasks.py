"""Background tasks that nobody awaits until the end: what ends one of them is told at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


def owned(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    """A task of this name. Who starts it keeps it, and cancels and awaits it in the end."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_tell)
    return task


def _tell(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("%s ended by a fault of ours", task.get_name(), exc_info=error)
