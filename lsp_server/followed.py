"""A session as the editors of this process follow it: one subscription for all of them, and how things stand for
whoever comes late."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agent_core.clock import Clock
from agent_core.hosting.port import SessionHost
from agent_core.turns.events import Observer, TurnEvent
from lsp_server.figures import CallWatch
from lsp_server.protocol.events import AnyEvent
from lsp_server.recent import Recent


class Watcher(msgspec.Struct, frozen=True):
    """What one editor wants of a session: turn events, figures of calls, and the state of the model's connection."""

    observe: Observer
    put: Callable[[AnyEvent], None]
    connection: Callable[[str], None]


class Followed:
    """Owned by the process, one per session; it ends with the process."""

    def __init__(self, host: SessionHost, clock: Clock) -> None:
        self.host, self.recent = host, Recent()
        self._watchers: tuple[Watcher, ...] = ()
        host.subscribe(self._observe, sink=CallWatch(clock, self.put, self._connection))

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """From now on; call what is returned to stop."""
        self._watchers += (watcher,)

        def stop() -> None:
            self._watchers = tuple(other for other in self._watchers if other is not watcher)

        return stop

    def put(self, event: AnyEvent) -> None:
        """A figure for everybody who watches."""
        self.recent.put(event)
        for watcher in self._watchers:
            watcher.put(event)

    def _observe(self, event: TurnEvent) -> None:
        self.recent.put(event)
        for watcher in self._watchers:
            watcher.observe(event)

    def _connection(self, state: str) -> None:
        for watcher in self._watchers if self.host.view().place == "live" else ():
            watcher.connection(state)
