"""Long work in slices on the event loop: between two of them others get their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from agent_core.responses_server.stages import Stages

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Yields at the latest after about a millisecond of work; returns its result."""

ITEMS_PER_SLICE = 64
"""Small items that are worked on at once."""


def at_once(work: Slices[T]) -> T:
    """The result; nobody else gets a turn before it is there."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


async def in_turns(work: Slices[T], stages: Stages | None = None, stage: str = "") -> T:
    """The result; others get their turn between the slices. The work's own time is charged to `stage`, if given."""
    while True:
        charged: AbstractContextManager[None] = nullcontext() if stages is None else stages.timed(stage)
        try:
            with charged:
                next(work)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)
