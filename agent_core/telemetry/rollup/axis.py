"""Places events of many processes on one wall axis. Pure.

Within a process only monotonic differences count. Each source has one wall anchor, taken from its first event, so
that a clock that is set back or forth moves nothing that was already placed; stamps of two processes are never
subtracted.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from agent_core.telemetry.events import Event

_DRIFT_NS = 1_000_000_000
"""A wall clock further off its anchor than this was set, or the machine slept: the anchor is taken anew between turns.
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Source(msgspec.Struct):
    anchor_ns: int
    last_seq: int = 0


class Axis:
    """Positions in nanoseconds since the Unix epoch, and what was seen before."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source] = {}
        self.steps_back = 0
        """How often a source's wall clock was found set back."""

    def place(self, event: Event, *, settled: bool) -> int | None:
        """Where the event is; None if its (source, sequence) was passed before. `settled`: nothing of this source is
        open."""
        source = self._sources.get(event.source)
        if source is None:
            source = self._sources[event.source] = _Source(_anchor_ns(event))
        if event.seq:
            if event.seq <= source.last_seq:
                return None
            source.last_seq = event.seq
        if settled:
            drift_ns = _anchor_ns(event) - source.anchor_ns
            if abs(drift_ns) > _DRIFT_NS:
                self.steps_back += drift_ns < 0
                source.anchor_ns += drift_ns
        return source.anchor_ns + event.mono_ns

    def at_ns(self, event: Event) -> int:
        """The position of an event that was placed."""
        return self._sources[event.source].anchor_ns + event.mono_ns

    def mono_ns(self, source: str, at_ns: int) -> int:
        """The source's monotonic stamp of a position."""
        return at_ns - self._sources[source].anchor_ns

    def cursors(self) -> dict[str, int]:
        """The last sequence seen of each source."""
        return {name: source.last_seq for name, source in self._sources.items()}


def parse_time_ns(time: str) -> int:
    """Nanoseconds since the Unix epoch of an RFC 3339 time; raises `ValueError`."""
    return (datetime.fromisoformat(time) - _EPOCH) // timedelta(microseconds=1) * 1000


def _anchor_ns(event: Event) -> int:
    """Wall time minus monotonic time; 0 for an event without a wall time."""
    return parse_time_ns(event.time) - event.mono_ns if event.time else 0
