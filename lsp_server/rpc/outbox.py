"""What waits to be sent to one client. Bounded: droppable messages give way, the others never.

A client that stops reading fills this queue and nothing else; past `HARD_BYTES` it counts as lost.
"""

from __future__ import annotations

import asyncio
from collections import deque

SOFT_BYTES = 256 << 10
"""With more than this waiting, droppable messages are left out."""
HARD_BYTES = 64 << 20
BATCH_BYTES = 64 << 10


class Outbox:
    """One writer takes batches; anyone on the loop puts."""

    def __init__(self, *, soft_bytes: int = SOFT_BYTES, hard_bytes: int = HARD_BYTES) -> None:
        self._soft, self._hard = soft_bytes, hard_bytes
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._filled = asyncio.Event()
        self.closed = False
        self.overflown = False
        self.dropped = 0

    @property
    def backlogged(self) -> bool:
        """True while the client does not keep up."""
        return self._bytes > self._soft

    def put(self, message: bytes, *, droppable: bool = False) -> bool:
        """Queue one message; False if it was left out."""
        if self.closed or (droppable and self.backlogged):
            self.dropped += droppable
            return False
        self._waiting.append(message)
        self._bytes += len(message)
        if self._bytes > self._hard:
            self.overflown = True
            self.close()
        self._filled.set()
        return True

    def close(self) -> None:
        """Take nothing more; what waits may still be sent."""
        self.closed = True
        self._filled.set()

    async def batch(self) -> list[bytes]:
        """The next messages, about `BATCH_BYTES` at most together; empty once closed and sent.

        They count as waiting until the next call, since the writer may still be busy with them.
        """
        while not self._waiting and not self.closed:
            self._filled.clear()
            await self._filled.wait()
        if self.overflown:
            return []
        taken: list[bytes] = []
        size = 0
        while self._waiting and (not taken or size + len(self._waiting[0]) <= BATCH_BYTES):
            taken.append(self._waiting.popleft())
            size += len(taken[-1])
        return taken

    def sent(self, batch: list[bytes]) -> None:
        """The writer is done with a batch."""
        self._bytes -= sum(map(len, batch))
