"""How much lanes may remember, in the whole process: bounds by count, bytes and age, and what goes first.

Each lane has one head, and making a new one replaces it. The heads stand in the order in which they were made, and that
is the order in which they go: first those that are older than the age, then the oldest until count and bytes hold. One
that is by itself above the bytes goes at once. A head that accepted input is waiting for is passed over until that has
come. An evicted head costs its client one full resend (`previous_response_not_found`), or the service a look into the
store; running responses keep what they go on from.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

Lane = tuple[str, str | None]
"""Id of a connection, and name of a lane on it."""


@dataclass(frozen=True)
class Bounds:
    """`heads`: how many together. `bytes`: what they may take together, as `ChainState.size` counts it. `age_s`: since
    they were made; 0: no limit.
    """

    heads: int = 10_000
    bytes: int = 1024 * 1024 * 1024
    age_s: float = 3600.0


@dataclass
class _Kept:
    response_id: str
    size: int
    made_s: float
    evict: Callable[[str], bool]


@dataclass
class Retention:
    """Of one service, on its event loop. `now_s`: any monotonic clock. `bytes`, `evicted`: for measuring."""

    bounds: Bounds
    now_s: Callable[[], float]
    bytes: int = 0
    evicted: int = 0
    _kept: OrderedDict[Lane, _Kept] = field(default_factory=OrderedDict)
    _timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, lane: Lane, response_id: str, size: int, evict: Callable[[str], bool]) -> None:
        """A lane has a new head. `evict` forgets it, if it is still that one; False: it can't go now."""
        self.drop(lane)
        self._kept[lane] = _Kept(response_id, size, self.now_s(), evict)
        self.bytes += size
        self.trim()

    def drop(self, lane: Lane) -> None:
        """The lane has no head any more."""
        kept = self._kept.pop(lane, None)
        if kept is not None:
            self.bytes -= kept.size

    def trim(self) -> None:
        """Evict what the bounds do not allow, and come back when the next one is too old."""
        bounds, now_s = self.bounds, self.now_s()
        for lane, kept in list(self._excess(now_s)):
            if kept.evict(kept.response_id):
                self.drop(lane)
                self.evicted += 1
            elif bounds.age_s and now_s - kept.made_s >= bounds.age_s:
                kept.made_s = now_s
                self._kept.move_to_end(lane)
        self._watch(now_s)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _excess(self, now_s: float) -> list[tuple[Lane, _Kept]]:
        """What has to go, in that order. Costs as much as it finds."""
        found = []
        heads, size = len(self._kept), self.bytes
        for lane, kept in self._kept.items():
            old = bool(self.bounds.age_s) and now_s - kept.made_s >= self.bounds.age_s
            if not old and heads <= self.bounds.heads and size <= self.bounds.bytes:
                break
            found.append((lane, kept))
            heads -= 1
            size -= kept.size
        return found

    def _watch(self, now_s: float) -> None:
        """One timer, for the oldest head."""
        if self._timer is not None or not self.bounds.age_s or not self._kept:
            return
        oldest = next(iter(self._kept.values()))
        wait_s = max(0.0, oldest.made_s + self.bounds.age_s - now_s)
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._too_old)

    def _too_old(self) -> None:
        self._timer = None
        self.trim()
