"""How often somebody may do something: token buckets by key, with a bound on keys. Pure; the caller brings the time."""

from __future__ import annotations

from collections import OrderedDict

MAX_KEYS = 20_000


class Buckets:
    """Each key has `burst` tokens, which come back at `per_s` a second."""

    def __init__(self, *, per_s: float, burst: float, max_keys: int = MAX_KEYS) -> None:
        self._per_s, self._burst, self._max_keys = per_s, burst, max_keys
        self._left: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """(tokens, when) by key, least recently used first."""

    def take(self, key: str, now_ns: int, amount: float = 1.0) -> float:
        """Take `amount`; 0.0 if it was there, else the seconds until it will be. More than `burst` at once is taken as
        `burst`."""
        left, then_ns = self._left.get(key, (self._burst, now_ns))
        left = min(self._burst, left + (now_ns - then_ns) / 1e9 * self._per_s)
        amount = min(amount, self._burst)
        wait_s = 0.0 if left >= amount else (amount - left) / self._per_s
        self._left[key] = (left if wait_s else left - amount, now_ns)
        self._left.move_to_end(key)
        while len(self._left) > self._max_keys:
            self._left.popitem(last=False)
        return wait_s


class Failures(Buckets):
    """Wrong credentials by peer: 50 at once, then 10 a second; more are told to wait.

    A right one is always let in, whoever else has failed from the same address: many may come from one (a proxy, this
    machine), and one of them is not to lock out the others. So the limit bounds work and logs; that nobody guesses a
    credential is what its length sees to.
    """

    def __init__(self) -> None:
        super().__init__(per_s=10.0, burst=50.0)
