"""The emitting side: a `Sink` takes events, an `Emitter` stamps them with source, sequence and both clocks.

The contract of a sink: never blocks, never raises. A sink that can't keep up drops the oldest `call.progress` first
and counts what it dropped; other events are never dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol

import msgspec

from agent_core.clock import Clock, rfc3339
from agent_core.telemetry.events import SCHEMA_VERSION, Event


class Sink(Protocol):
    def emit(self, event: Event) -> None:
        """Take one stamped event."""


class NullSink:
    """Takes everything, keeps nothing."""

    def emit(self, event: Event) -> None:
        return


class ListSink:
    """Keeps events in memory, for the table at the end of a run and for tests."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


class FanOut:
    """Gives each event to several sinks in order."""

    def __init__(self, sinks: Iterable[Sink]) -> None:
        self._sinks = tuple(sinks)

    def emit(self, event: Event) -> None:
        for sink in self._sinks:
            sink.emit(event)


class Emitter:
    """Owns the sequence of one source. `source` is unique per process (host label and pid, no user data)."""

    def __init__(self, sink: Sink, clock: Clock, source: str, *, first_seq: int = 1) -> None:
        self._sink, self._clock, self.source = sink, clock, source
        self._next = first_seq
        self._lock = threading.Lock()

    def emit(self, event: Event) -> None:
        """Stamp `event` and hand it on. The caller has set the subject ids (`session`, `turn`, …) on the event."""
        with self._lock:
            stamped = msgspec.structs.replace(
                event,
                v=SCHEMA_VERSION,
                source=self.source,
                seq=self._next,
                time=rfc3339(self._clock.wall_ns()),
                mono_ns=self._clock.mono_ns(),
            )
            self._next += 1
            self._sink.emit(stamped)
