"""Which conversation has which slot of the model. A lane keeps its slot until another one needs it more.

A slot is the model's state for one sequence of tokens. Lanes are held by who uses them (a connection's memory); a lane
that nobody holds any more leaves its slot free.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from agent_core.responses_server.engines.llama.transcript import Transcript

KEYED_LANES: Final = 64
"""Conversations that are remembered by their `prompt_cache_key`, so that they can go on without a connection."""


class Lane:
    """One conversation. `slot` None: the model holds nothing of it."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.slot: int | None = None


class Holder:
    """Keeps a lane for whoever holds this; lives in a connection's memory of a lane."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane


class Keyed:
    """Lanes by key, for requests that come without memory; each for one holder at a time."""

    def __init__(self, most: int = KEYED_LANES) -> None:
        self._most = most
        self._lanes: OrderedDict[str, tuple[Lane, weakref.ref[Holder]]] = OrderedDict()

    def hold(self, key: str | None) -> Holder:
        """The lane with this key if nobody holds it, else a new one, which takes its place under the key."""
        known = self._lanes.pop(key, None) if key is not None else None
        holder = Holder(known[0] if known is not None and known[1]() is None else Lane())
        if key is not None:
            self._lanes[key] = (holder.lane, weakref.ref(holder))
            if len(self._lanes) > self._most:
                self._lanes.popitem(last=False)
        return holder


class _Slot:
    def __init__(self) -> None:
        self.owner: weakref.ref[Lane] | None = None
        self.busy = False
        self.last_use = 0
        self.left = Transcript()
        """What the slot's last owner had in it."""

    @property
    def lane(self) -> Lane | None:
        return self.owner() if self.owner is not None else None


class Slots:
    """`share_prefix`: a new lane may start from what a slot without an owner still holds."""

    def __init__(self, count: int, *, share_prefix: bool = False) -> None:
        self._slots = [_Slot() for _ in range(count)]
        self._share_prefix = share_prefix
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._uses = 0
        self.evictions = 0

    @asynccontextmanager
    async def holding(self, lane: Lane, text: str) -> AsyncIterator[tuple[int, bool]]:
        """The lane's slot, and whether it may go on from what is in it; waits while all are busy.

        `text`: the prompt, to find a slot that already holds its beginning.
        """
        index = await self._acquire(lane, text)
        slot = self._slots[index]
        reusable = lane.slot == index
        if not reusable:
            self._take(index, lane)
            reusable = self._share_prefix and slot.left.shared(text) != (0, 0)
        self._uses += 1
        slot.busy, slot.last_use, slot.left = True, self._uses, lane.transcript
        try:
            yield index, reusable
        finally:
            slot.busy = False
            self._wake()

    def _take(self, index: int, lane: Lane) -> None:
        before = self._slots[index].lane
        if before is not None:
            before.slot = None
            self.evictions += 1
        self._slots[index].owner = weakref.ref(lane)
        lane.slot = index

    async def _acquire(self, lane: Lane, text: str) -> int:
        while (index := self._choice(lane, text)) is None:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        return index

    def _choice(self, lane: Lane, text: str) -> int | None:
        """Its own slot, else one without an owner, else the one that was not used for longest; None if all are busy."""
        if lane.slot is not None:
            return None if self._slots[lane.slot].busy else lane.slot
        idle = [index for index, slot in enumerate(self._slots) if not slot.busy]
        free = [index for index in idle if self._slots[index].lane is None]
        oldest: Callable[[int], int] = lambda index: self._slots[index].last_use  # noqa: E731
        if self._share_prefix and free:
            return max(free, key=lambda index: (self._slots[index].left.shared(text)[1], -oldest(index)))
        return min(free or idle, key=oldest, default=None)

    def _wake(self) -> None:
        """Let those who wait look again, the longest waiting first."""
        turns, self._waiting = self._waiting, deque()
        for turn in turns:
            if not turn.done():
                turn.set_result(None)
