"""A source says that it lives: `source.alive`, every 15 s while a turn or a call of it runs.

Whoever follows it from afar can so tell a long tool from a machine that went away.
"""

from __future__ import annotations

import threading

from agent_core.clock import Clock
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import CallCompleted, CallSent, Event, SourceAlive, TurnFinished, TurnStarted

ALIVE_S = 15.0
MAX_OPEN = 10_000
"""Turns and calls that may be open at once; more means that ends got lost."""


class Pulse:
    """When the next sign of life is due. A `Sink` of its source's events; pure: the time is handed in."""

    def __init__(self) -> None:
        self._open: dict[str, None] = {}
        self._since_ns = 0
        self.began = threading.Event()
        """Set while something runs."""

    def emit(self, event: Event) -> None:
        kind = type(event)
        if kind is TurnStarted:
            self._begin(f"turn {event.turn}", event.mono_ns)
        elif kind is CallSent:
            self._begin(f"call {event.call}", event.mono_ns)
        elif kind is TurnFinished:
            self._end(f"turn {event.turn}")
        elif kind is CallCompleted:
            self._end(f"call {event.call}")

    def due_s(self, now_ns: int) -> float | None:
        """Seconds until a sign of life is due, 0 if it is; None while nothing runs."""
        if not self._open:
            return None
        return max(0.0, ALIVE_S - (now_ns - self._since_ns) / 1e9)

    def told(self, now_ns: int) -> None:
        """The sign was given."""
        self._since_ns = now_ns

    def _begin(self, name: str, mono_ns: int) -> None:
        if not self._open:
            self._since_ns = max(self._since_ns, mono_ns)
        self._open[name] = None
        while len(self._open) > MAX_OPEN:
            del self._open[next(iter(self._open))]
        self.began.set()

    def _end(self, name: str) -> None:
        self._open.pop(name, None)
        if not self._open:
            self.began.clear()


class Heart:
    """The thread that gives the signs; it sleeps while nothing runs. `close` it."""

    def __init__(self, pulse: Pulse, emitter: Emitter, clock: Clock) -> None:
        self._pulse, self._emitter, self._clock = pulse, emitter, clock
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loopline-alive", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float = 2.0) -> None:
        self._closing.set()
        self._pulse.began.set()
        self._thread.join(timeout_s)

    def beat(self) -> float:
        """Give a sign if one is due; seconds until the next look."""
        now_ns = self._clock.mono_ns()
        due_s = self._pulse.due_s(now_ns)
        if due_s == 0:
            self._pulse.told(now_ns)
            self._emitter.emit(SourceAlive())
        return due_s or ALIVE_S

    def _run(self) -> None:
        while True:
            self._pulse.began.wait()
            if self._closing.wait(self.beat()):
                return
