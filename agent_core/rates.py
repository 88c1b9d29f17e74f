"""How often somebody may do something: token buckets, one or by key with a bound on keys. Pure; the caller brings the
time."""

from __future__ import annotations

from collections import OrderedDict

MAX_KEYS = 20_000


class Bucket:
    """Holds `burst` tokens at most, is full at first, and refills at `per_s` a second. `now_s`: any clock that only
    goes forward."""

    __slots__ = ("_at_s", "_burst", "_level", "_per_s")

    def __init__(self, *, per_s: float, burst: float, now_s: float) -> None:
        self._per_s, self._burst = per_s, burst
        self._level, self._at_s = burst, now_s

    def wait_s(self, now_s: float, amount: float = 1.0) -> float:
        """Seconds until there is `amount` in it, 0.0 if there is. More than `burst` counts as `burst`."""
        self._level = min(self._burst, self._level + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        missing = min(amount, self._burst) - self._level
        return missing / self._per_s if missing > 0 else 0.0

    def take(self, amount: float) -> None:
        """Also what is not there: it lets nothing pass until it is filled up again."""
        self._level -= amount


class Buckets:
    """Each key has a bucket of its own; the one that was used longest ago gives way."""

    def __init__(self, *, per_s: float, burst: float, max_keys: int = MAX_KEYS) -> None:
        self._per_s, self._burst, self._max_keys = per_s, burst, max_keys
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, key: str, now_ns: int, amount: float = 1.0) -> float:
        """Take `amount`; 0.0 if it was there, else the seconds until it will be. More than `burst` at once is taken as
        `burst`."""
        now_s = now_ns / 1e9
        bucket = self._buckets.get(key) or Bucket(per_s=self._per_s, burst=self._burst, now_s=now_s)
        wait_s = bucket.wait_s(now_s, amount)
        if not wait_s:
            bucket.take(min(amount, self._burst))
        self._buckets[key] = bucket
        self._buckets.move_to_end(key)
        while len(self._buckets) > self._max_keys:
            self._buckets.popitem(last=False)
        return wait_s

    def clear(self) -> None:
        """All are full again."""
        self._buckets.clear()


class Failures(Buckets):
    """Wrong credentials by peer: 50 at once, then 10 a second; more are told to wait.

    A right one is always let in, whoever else has failed from the same address: many may come from one (a proxy, this
    machine), and one of them is not to lock out the others. So the limit bounds work and logs; that nobody guesses a
    credential is what its length sees to.
    """

    def __init__(self) -> None:
        super().__init__(per_s=10.0, burst=50.0)
