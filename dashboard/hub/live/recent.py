"""The last 15 minutes of a team in memory: output rate by the second, and first-token times and reuse by the minute.

Pure; the caller brings the time.
"""

from __future__ import annotations

from collections import Counter, deque

from agent_core.telemetry.rollup.figures import Figures
from agent_core.telemetry.rollup.sketch import Sketch

SPAN_S = 900
SEED_STEP_S = 10


class Recent:
    def __init__(self) -> None:
        self.rates: deque[tuple[int, float]] = deque(maxlen=SPAN_S)
        """(second, tokens per second), oldest first."""
        self._minutes: dict[int, tuple[Sketch, Counter[str], int]] = {}
        """By minute: first-token times, reuse outcomes, calls whose outcome is known."""

    def sample(self, at_s: int, rate: float) -> None:
        """Add the rate of a second; older ones than the span are dropped."""
        if self.rates and self.rates[-1][0] >= at_s:
            return
        self.rates.append((at_s, round(rate, 1)))
        while self.rates[0][0] < at_s - SPAN_S:
            self.rates.popleft()

    def seed(self, tokens: dict[int, int], now_s: int) -> None:
        """Rates of a time before the hub began, from the output tokens of each minute; minutes without any are 0."""
        first = max(min(tokens, default=now_s), now_s - SPAN_S)
        for at_s in range(first, now_s, SEED_STEP_S):
            self.sample(at_s, tokens.get(at_s // 60 * 60, 0) / 60)

    def add(self, minute_s: int, figures: Figures, now_s: int) -> None:
        """Count what ended in a minute."""
        if minute_s < now_s - SPAN_S:
            return
        ttft, reuse, calls = self._minutes.get(minute_s, (Sketch(), Counter(), 0))
        ttft.merge(figures.sketches["ttft"])
        reuse.update(figures.reuse)
        self._minutes[minute_s] = (ttft, reuse, calls + sum(figures.reuse.values()))
        for minute in [minute for minute in self._minutes if minute < now_s - SPAN_S]:
            del self._minutes[minute]

    def ttft(self, now_s: int) -> Sketch:
        """First-token times of the span, in ms."""
        merged = Sketch()
        for minute, (ttft, _, _) in self._minutes.items():
            if minute >= now_s - SPAN_S:
                merged.merge(ttft)
        return merged

    def reused(self, now_s: int) -> tuple[int, int]:
        """(calls of the span that continued their chain, all its calls of which that is known)."""
        reused = calls = 0
        for minute, (_, reuse, count) in self._minutes.items():
            if minute >= now_s - SPAN_S:
                reused, calls = reused + reuse["reused"], calls + count
        return reused, calls
