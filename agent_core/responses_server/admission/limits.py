"""What each API key may use: connections at once, requests and tokens a minute. In memory, one process.

Rates are buckets that refill steadily and hold one minute's worth, so a burst of that size passes and the rate holds
over time. Tokens are known when a response ends: they are taken then, and a bucket that went below zero lets nothing
pass until it is filled up again. Restarting the service fills all buckets.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping

from agent_core.errors import Retry, ServiceError
from agent_core.rates import Bucket
from agent_core.responses_server.settings import KeyLimits

LEAST_PAUSE_S = 0.001
"""Less than this is no pause: who waited as long as asked is let in, whatever was rounded."""
CONNECTION_PAUSE_S = 1.0
"""The pause asked for where a connection has to close first: nobody knows when."""


class _Key:
    def __init__(self, limits: KeyLimits, now_s: float) -> None:
        self.limits = limits
        self.connections = 0
        self.requests = _a_minute(limits.requests_per_minute, now_s)
        self.tokens = _a_minute(limits.tokens_per_minute, now_s)


def _a_minute(most: int, now_s: float) -> Bucket | None:
    """0: no limit."""
    return Bucket(per_s=most / 60, burst=float(most), now_s=now_s) if most else None


def _pause_s(bucket: Bucket, now_s: float) -> float:
    wait_s = bucket.wait_s(now_s)
    return wait_s if wait_s > LEAST_PAUSE_S else 0.0


class Limits:
    """`per_key`: limits by name of the key; a name that is not there has none. `now_s`: any monotonic clock."""

    def __init__(self, per_key: Mapping[str, KeyLimits], now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._keys = {name: _Key(limits, now_s()) for name, limits in per_key.items()}
        self.refused: Counter[tuple[str, str]] = Counter()
        """How often a (key, limit) refused something; both are words of the configuration."""

    def connect(self, key: str) -> ServiceError | None:
        """Count a WebSocket, or a running HTTP request. The refusal if there are too many; it is not counted then."""
        held = self._keys.get(key)
        if held is None:
            return None
        most = held.limits.connections
        if most and held.connections >= most:
            return self._refusal(key, "connections", f"{most} at once", CONNECTION_PAUSE_S)
        held.connections += 1
        return None

    def disconnect(self, key: str) -> None:
        """What `connect` let in has ended."""
        held = self._keys.get(key)
        if held is not None:
            held.connections -= 1

    def admit(self, key: str) -> ServiceError | None:
        """Take one request. The refusal if the key has used up its requests or tokens; then nothing is taken."""
        held = self._keys.get(key)
        if held is None:
            return None
        now_s = self._now_s()
        if held.tokens is not None and (wait_s := _pause_s(held.tokens, now_s)):
            return self._refusal(key, "tokens", f"{held.limits.tokens_per_minute} a minute", wait_s)
        if held.requests is not None:
            if wait_s := _pause_s(held.requests, now_s):
                return self._refusal(key, "requests", f"{held.limits.requests_per_minute} a minute", wait_s)
            held.requests.take(1)
        return None

    def charge(self, key: str, tokens: int) -> None:
        """Take the tokens of a response that has ended."""
        held = self._keys.get(key)
        if held is not None and held.tokens is not None:
            held.tokens.wait_s(self._now_s())
            held.tokens.take(tokens)

    def _refusal(self, key: str, what: str, limit: str, wait_s: float) -> ServiceError:
        """The pause is said in words as well: some clients read it there, and `response.failed` has no headers."""
        self.refused[key, what] += 1
        pause_s = math.ceil(wait_s * 1000) / 1000
        return ServiceError(
            f"Rate limit reached for {what} of key '{key}': {limit}. Please try again in {pause_s:g}s.",
            code="rate_limit_exceeded",
            status=429,
            retry=Retry.BACKOFF,
            retry_after_s=pause_s,
        )
