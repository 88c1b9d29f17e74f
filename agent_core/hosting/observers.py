"""Several observers of one session: each is told every turn event, and every event of telemetry if it asked; one that
fails is no harm to the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.emitter import Sink
from agent_core.telemetry.events import Content, Event
from agent_core.turns.events import Observer, TurnEvent

log = logging.getLogger(__name__)


class Observers:
    """An `Observer` that hands on to those which were added, in that order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers: list[Observer] = list(observers)

    def __call__(self, event: TurnEvent) -> None:
        for observer in tuple(self._observers):
            try:
                observer(event)
            except Exception as error:
                log.error("an observer failed with %s; it is left out from here on", type(error).__name__)
                self._observers.remove(observer)

    def add(self, observer: Observer, *, first: bool = False) -> Callable[[], None]:
        """Add one, behind the others unless it is to be `first`; call what is returned to take it out again."""
        self._observers.insert(0 if first else len(self._observers), observer)

        def remove() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return remove


class Sinks:
    """A telemetry sink that hands on to those which were added. Each takes an event at once and never raises."""

    def __init__(self) -> None:
        self._sinks: tuple[Sink, ...] = ()

    def emit(self, event: Event) -> None:
        for sink in self._sinks:
            sink.emit(event)

    def add(self, sink: Sink) -> Callable[[], None]:
        """Add one; call what is returned to take it out again."""
        self._sinks += (sink,)

        def remove() -> None:
            self._sinks = tuple(other for other in self._sinks if other is not sink)

        return remove


class EventTap:
    """A telemetry sink that hands a session's events on, encoded, to those who asked. Content is never handed on."""

    def __init__(self) -> None:
        self._takers: tuple[Callable[[bytes], None], ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None

    def emit(self, event: Event) -> None:
        if not self._takers or self._loop is None or isinstance(event, Content):
            return
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        data = encode_event(event)
        if here is self._loop:
            self._give(data)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._give, data)

    def add(self, take: Callable[[bytes], None]) -> Callable[[], None]:
        """Add one, which is called on the running loop and never raises; call what is returned to take it out again."""
        self._loop = asyncio.get_running_loop()
        self._takers += (take,)

        def remove() -> None:
            self._takers = tuple(other for other in self._takers if other is not take)

        return remove

    def _give(self, data: bytes) -> None:
        for take in self._takers:
            take(data)
