"""Tokens of texts by their digest: one bounded cache for the whole process, used from several threads.

What was used least lately goes first. It holds no text, so it tells nobody what another client has sent; that a text
was rendered before shows in time alone.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict


class TokenCache:
    """At most `most_tokens` tokens together. `hits`, `misses` count look-ups."""

    def __init__(self, most_tokens: int) -> None:
        self._most = most_tokens
        self._kept: OrderedDict[bytes, array[int]] = OrderedDict()
        self._guard = threading.Lock()
        self.tokens = self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, digest: bytes) -> array[int] | None:
        with self._guard:
            known = self._kept.get(digest)
            if known is None:
                self.misses += 1
                return None
            self._kept.move_to_end(digest)
            self.hits += 1
            return known

    def put(self, digest: bytes, tokens: array[int]) -> None:
        """Keep `tokens`, which nobody may change from now on. One that is larger than all of the cache is let go."""
        with self._guard:
            if digest not in self._kept:
                self._kept[digest] = tokens
                self.tokens += len(tokens)
            while self.tokens > self._most:
                self.tokens -= len(self._kept.popitem(last=False)[1])
