"""Append-only logs of encoded items with rolling digests: equality of long prefixes in constant time.

Owns the digest. Two logs have equal first `n` items exactly when their `digest(n)` are equal (128-bit BLAKE2b), so
neither a delta decision nor a resend ever compares or encodes an old item again. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Protocol

DIGEST_BYTES = 16

EMPTY_DIGEST = bytes(DIGEST_BYTES)
"""The digest of no items."""


def roll(digest: bytes, raw: bytes) -> bytes:
    """The digest of the items behind `digest` followed by the encoded item `raw`."""
    return blake2b(raw, digest_size=DIGEST_BYTES, key=digest).digest()


def roll_all(digest: bytes, raws: Iterable[bytes]) -> bytes:
    """`roll` over several items in order."""
    for raw in raws:
        digest = roll(digest, raw)
    return digest


class ItemLog(Protocol):
    """What the client's way to the model needs of a history. It may grow at the end at any time; what is there never
    changes."""

    @property
    def start(self) -> int:
        """Index of the first item that a full input has; what is before it was compacted away."""

    def __len__(self) -> int: ...

    def digest(self, n: int) -> bytes:
        """Digest of the first `n` items, 0 <= n <= len. Constant time."""

    def raw(self, start: int) -> Sequence[bytes]:
        """The encoded items from index `start` on, each one JSON object in UTF-8."""


class Items:
    """The plain `ItemLog`: a list in memory. Not safe for several threads."""

    __slots__ = ("_digests", "_raws", "start")

    def __init__(self, raws: Iterable[bytes] = ()) -> None:
        self.start = 0
        self._raws: list[bytes] = []
        self._digests: list[bytes] = [EMPTY_DIGEST]
        self.extend(raws)

    def __len__(self) -> int:
        return len(self._raws)

    def append(self, raw: bytes) -> None:
        self._digests.append(roll(self._digests[-1], raw))
        self._raws.append(raw)

    def extend(self, raws: Iterable[bytes]) -> None:
        for raw in raws:
            self.append(raw)

    def digest(self, n: int) -> bytes:
        if not 0 <= n <= len(self._raws):
            raise IndexError(f"digest of the first {n} of {len(self._raws)} items")
        return self._digests[n]

    def raw(self, start: int) -> list[bytes]:
        return self._raws[start:]
