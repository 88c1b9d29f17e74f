"""What waits for one client of the control socket. Bounded: updates give way, the oldest first, answers never."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from agent_core.control.messages import MAX_LINE, Detached, EventMessage, Gap, UpdateMessage, encode

MAX_UPDATES = 1_000
MAX_BYTES = 4 << 20
WRITE_BYTES = 64 << 10
"""Bytes joined into one write."""


class Mailbox:
    """One reader (`async for`), one loop. Each item is bytes to write."""

    def __init__(self, *, max_updates: int = MAX_UPDATES, max_bytes: int = MAX_BYTES) -> None:
        self._max_updates, self._max_bytes = max_updates, max_bytes
        self._waiting: deque[tuple[str | None, bytes]] = deque()
        """(session of an update, line); None for what must arrive."""
        self._updates = self._bytes = 0
        self._lost: dict[str, int] = {}
        self._seqs: dict[str, int] = {}
        self._closed = False
        self._filled = asyncio.Event()

    def put(self, line: bytes) -> None:
        """Something that must arrive. There are few of these: one per request."""
        self._waiting.append((None, line))
        self._filled.set()

    def attach(self, session: str) -> None:
        """Take this session's updates and events from now on, numbered from 1."""
        self._seqs[session] = 0

    def update(self, session: str, update: bytes) -> None:
        """Something that may give way; dropped if the session is not attached."""
        if (seq := self._next_seq(session)) is not None:
            self._put(session, encode(UpdateMessage(session=session, seq=seq, update=msgspec.Raw(update))))

    def event(self, session: str, event: bytes) -> None:
        """As `update`."""
        if (seq := self._next_seq(session)) is not None:
            self._put(session, encode(EventMessage(session=session, seq=seq, event=msgspec.Raw(event))))

    def _next_seq(self, session: str) -> int | None:
        if self._closed or session not in self._seqs:
            return None
        self._seqs[session] += 1
        return self._seqs[session]

    def _put(self, session: str, line: bytes) -> None:
        if len(line) > MAX_LINE:
            self._lost[session] = self._lost.get(session, 0) + 1
        else:
            self._waiting.append((session, line))
            self._updates, self._bytes = self._updates + 1, self._bytes + len(line)
            self._shrink()
        self._filled.set()

    def detached(self, session: str) -> None:
        """No updates of this session any more; told after those that wait."""
        if self._seqs.pop(session, None) is not None:
            self.put(encode(Detached(session=session)))

    def close(self) -> None:
        """The iteration ends after what waits."""
        self._closed = True
        self._filled.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await self._filled.wait()
            self._filled.clear()
            while batch := self._take():
                yield batch
            if self._closed:
                return

    def _take(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        for name, lost in self._lost.items():
            lines.append(encode(Gap(session=name, lost=lost)))
        self._lost.clear()
        while self._waiting and size < WRITE_BYTES:
            session, line = self._waiting.popleft()
            if session is not None:
                self._updates, self._bytes = self._updates - 1, self._bytes - len(line)
            lines.append(line)
            size += len(line)
        return b"".join(lines)

    def _shrink(self) -> None:
        """Drop the oldest updates beyond the limits, a quarter at a time, so that a slow client costs little."""
        if self._updates <= self._max_updates and self._bytes <= self._max_bytes:
            return
        kept: deque[tuple[str | None, bytes]] = deque()
        for session, line in self._waiting:
            over = self._updates > self._max_updates * 3 // 4 or self._bytes > self._max_bytes * 3 // 4
            if session is not None and over:
                self._updates, self._bytes = self._updates - 1, self._bytes - len(line)
                self._lost[session] = self._lost.get(session, 0) + 1
            else:
                kept.append((session, line))
        self._waiting = kept
