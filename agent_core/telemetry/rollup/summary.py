"""The figures of the summary line that `--json` ends with (interface, section 1). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over a run. None: no call reported it."""

    calls: int
    """Without warm-ups and repeated attempts."""
    connections: int
    """Handshakes."""
    reused_calls: int
    """Creates with `previous_response_id`."""
    full_resends: int
    """Creates without one, after the first create."""
    bytes_up: int
    """Of all create frames, warm-ups and repeated attempts included."""
    ttft_ms_p50: float | None
    cached_tokens: int | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    """Part of the output tokens."""


def median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the two middle ones; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


class Tally:
    """What is counted as it is sent, whether or not it ever ends."""

    __slots__ = ("bytes_up", "calls", "chained", "creates", "handshakes", "nameless_handshakes", "numbered")

    def __init__(self) -> None:
        self.calls = self.creates = self.chained = self.bytes_up = self.numbered = 0
        self.handshakes: set[str] = set()
        self.nameless_handshakes = 0

    def sent(self, *, new_call: bool, chained: bool, size: int) -> None:
        self.calls += new_call
        self.creates += 1
        self.chained += chained
        self.bytes_up += size

    def next_number(self) -> int:
        """Numbers calls from 1 on."""
        self.numbered += 1
        return self.numbered

    def handshake(self, connection: str | None) -> None:
        """A connection was made; the same one told twice (opened, then reconnected) is one handshake."""
        if connection is None:
            self.nameless_handshakes += 1
        else:
            self.handshakes.add(connection)

    @property
    def connections(self) -> int:
        return len(self.handshakes) + self.nameless_handshakes

    @property
    def full_resends(self) -> int:
        return max(0, self.creates - self.chained - 1)
