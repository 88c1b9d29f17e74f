"""The live output rate of running calls, over a short window. Pure: the time is handed in.

rate = tokens in the last 5 s / min(5 s, time since the first delta). While a call streams its tokens are estimates;
the provider's count arrives with the terminal event.
"""

from __future__ import annotations

from collections import deque

WINDOW_NS = 5_000_000_000
_SHORTEST_NS = 50_000_000
"""A shorter time since the first delta gives no reading of its own: the one before stays (MoonshotAI/kimi-code#3666).
"""


class LiveRate:
    """Samples of one running call: (position, tokens so far). Positions never go back."""

    __slots__ = ("_base", "_last", "_samples", "_start_ns")

    def __init__(self, first_delta_ns: int) -> None:
        self._start_ns = first_delta_ns
        self._samples: deque[tuple[int, int]] = deque()
        self._base = 0
        self._last: float | None = None

    def sample(self, at_ns: int, tokens: int) -> None:
        """`tokens` is the running count since the call began; a smaller one than before counts as no growth."""
        latest = self._samples[-1][1] if self._samples else self._base
        self._samples.append((at_ns, max(tokens, latest)))
        self._forget(at_ns)

    def rate(self, now_ns: int) -> float | None:
        """Tokens per second at `now_ns`; None before there is anything to tell."""
        self._forget(now_ns)
        span_ns = min(WINDOW_NS, now_ns - self._start_ns)
        if span_ns >= _SHORTEST_NS:
            latest = self._samples[-1][1] if self._samples else self._base
            self._last = (latest - self._base) * 1e9 / span_ns
        return self._last

    def _forget(self, now_ns: int) -> None:
        while self._samples and self._samples[0][0] <= now_ns - WINDOW_NS:
            self._base = self._samples.popleft()[1]
