"""Long work in slices on the event loop: between two of them others get their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar
from weakref import WeakKeyDictionary

from agent_core.responses_server.stages import Stages

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Yields at the latest after about a millisecond of work; returns its result."""

ITEMS_PER_SLICE = 64
"""Small items that are worked on at once."""
BYTES_PER_SLICE = 128 * 1024
"""Of JSON that is read at once, unless one item alone has more."""


class Share:
    """What of a slice is used up by items of some bytes, each of which costs a little by itself too."""

    def __init__(self) -> None:
        self._left = BYTES_PER_SLICE

    def is_used(self, size: int) -> bool:
        """Count an item; whether others should get their turn now."""
        self._left -= size + BYTES_PER_SLICE // ITEMS_PER_SLICE
        if self._left > 0:
            return False
        self._left = BYTES_PER_SLICE
        return True


def at_once(work: Slices[T]) -> T:
    """The result; nobody else gets a turn before it is there."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Who is at work, by event loop. One slice of long work is done at a time, whoever it is for: the more requests have
much to do, the longer each takes, and nobody else waits for more than one slice."""


async def in_turns(work: Slices[T], stages: Stages | None = None, stage: str = "") -> T:
    """The result; others get their turn between the slices. The work's own time is charged to `stage`, if given."""
    turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    first = True
    while True:
        charged: AbstractContextManager[None] = nullcontext() if stages is None else stages.timed(stage)
        try:
            if first:
                first = False
                with charged:
                    next(work)
            else:
                async with turn:
                    with charged:
                        next(work)
                    await asyncio.sleep(0)
        except StopIteration as end:
            result: T = end.value
            return result
