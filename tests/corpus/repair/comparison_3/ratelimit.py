"""A sliding-window limiter driven by the caller's clock."""

from collections import deque


class SlidingWindow:
    def __init__(self, limit, seconds):
        self.limit = limit
        self.seconds = seconds
        self._times = deque()

    def _forget(self, now):
        while self._times and now - self._times[0] <= self.seconds:
            self._times.popleft()

    def allow(self, now):
        """Whether a request at `now` is within the limit; allowed ones count."""
        self._forget(now)
        if len(self._times) >= self.limit:
            return False
        self._times.append(now)
        return True

    def free(self, now):
        self._forget(now)
        return self.limit - len(self._times)
