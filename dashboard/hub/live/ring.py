"""Fans changes out to browsers: what changed, never how often. Owned by the event loop's thread.

One ring of ticks is shared by all readers. A tick holds the ids that changed in it, by team, and its terminal entries
(turns that ended, troubles) as they are sent. A reader is a position in the ring, so it costs the same whatever the
event rate and however long it stalls: what it gets next are the ids changed since its position, each once, with all
terminal entries. A position that left the ring gets one `resync`.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Iterator

import msgspec

RING = 1_024
"""Ticks kept, about 4 minutes at 4 a second."""
MAX_IDS = 2_000
"""Ids of one team in one tick; beyond it the tick makes every reader of the team start over."""
MAX_TERMINAL = 2_000
"""Terminal entries of one team in one tick."""
MAX_RING_BYTES = 16 << 20
"""Of all terminal entries in the ring; the oldest ticks go beyond it."""


class TeamTick(msgspec.Struct):
    """What changed for one team in one tick. `ended` and `errors` are JSON objects."""

    ids: dict[str, None] = msgspec.field(default_factory=dict)
    ended: list[bytes] = msgspec.field(default_factory=list)
    errors: list[bytes] = msgspec.field(default_factory=list)
    everything: bool = False


class Tick(msgspec.Struct):
    seq: int
    teams: dict[str, TeamTick] = msgspec.field(default_factory=dict)


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader has to send: ids by (team, turn), each once, and terminal entries in order."""

    cursor: str
    ids: list[tuple[str, str]]
    ended: list[bytes]
    errors: list[bytes]
    resync: bool = False
    """The position is out of reach; fetch a snapshot and go on from `cursor`."""


class Live:
    """`mark` while folding, `tick` a few times a second, `read` per reader."""

    def __init__(self, ring: int = RING, max_bytes: int = MAX_RING_BYTES) -> None:
        self.epoch = secrets.token_hex(4)
        """Changes with the process, so that a position of an earlier one is known to be out of reach."""
        self._ring: deque[Tick] = deque()
        self._limit, self._max_bytes, self._bytes = ring, max_bytes, 0
        self._next = Tick(1)
        self._changed = asyncio.Event()
        self.readers = 0
        self.resyncs = 0
        self.coalesced = 0
        """Changes that became one with another of the same tick."""
        self.closed_slow = 0
        """Streams closed because the browser did not take what was sent in time."""

    @property
    def cursor(self) -> str:
        """The present position, `<epoch>-<seq>`: everything up to it is in a snapshot taken now."""
        return f"{self.epoch}-{self._next.seq - 1}"

    def restart(self) -> None:
        """Have every reader begin anew: what changed is not known in detail."""
        self.epoch = secrets.token_hex(4)
        self._changed.set()

    def mark(self, team: str, ids: set[str], ended: list[bytes], errors: list[bytes]) -> None:
        """Note changes for the coming tick."""
        if not (ids or ended or errors):
            return
        change = self._next.teams.setdefault(team, TeamTick())
        self.coalesced += len(ids & change.ids.keys())
        change.ids.update(dict.fromkeys(ids))
        change.ended += ended
        change.errors += errors
        if len(change.ids) > MAX_IDS or len(change.ended) + len(change.errors) > MAX_TERMINAL:
            self._next.teams[team] = TeamTick(everything=True)

    def tick(self) -> bool:
        """Close the present tick and wake the readers; False if nothing changed."""
        if not self._next.teams:
            return False
        self._ring.append(self._next)
        self._bytes += _size(self._next)
        while len(self._ring) > self._limit or (self._bytes > self._max_bytes and len(self._ring) > 1):
            self._bytes -= _size(self._ring.popleft())
        self._next = Tick(self._next.seq + 1)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        return True

    async def wait(self, timeout_s: float) -> bool:
        """Until the next tick; False if there was none in time."""
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await changed.wait()
        return changed.is_set()

    def read(self, after: str, team: str | None) -> Changed:
        """What changed after a position for who sees `team` (None: all teams). A malformed position is out of reach."""
        seq = self._position(after)
        oldest = self._ring[0].seq if self._ring else self._next.seq
        if seq is None or seq < oldest - 1 or seq >= self._next.seq:
            self.resyncs += 1
            return Changed(cursor=self.cursor, ids=[], ended=[], errors=[], resync=True)
        ids: dict[tuple[str, str], None] = {}
        ended: list[bytes] = []
        errors: list[bytes] = []
        for tick in self._after(seq):
            for name, change in tick.teams.items():
                if team is not None and name != team:
                    continue
                if change.everything:
                    self.resyncs += 1
                    return Changed(cursor=self.cursor, ids=[], ended=[], errors=[], resync=True)
                ids.update(dict.fromkeys((name, turn) for turn in change.ids))
                ended += change.ended
                errors += change.errors
        return Changed(cursor=self.cursor, ids=list(ids), ended=ended, errors=errors)

    def _after(self, seq: int) -> Iterator[Tick]:
        """Ticks after `seq`; the ring's sequence has no gaps."""
        if self._ring:
            skip = seq - self._ring[0].seq + 1
            for index in range(max(0, skip), len(self._ring)):
                yield self._ring[index]

    def _position(self, cursor: str) -> int | None:
        epoch, _, seq = cursor.rpartition("-")
        if epoch != self.epoch or not (seq.isascii() and seq.isdigit() and len(seq) < 19):
            return None
        return int(seq)


def _size(tick: Tick) -> int:
    return sum(len(entry) for change in tick.teams.values() for entry in (*change.ended, *change.errors))
