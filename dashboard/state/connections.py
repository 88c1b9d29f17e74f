"""Connections as a dashboard shows them: state, age, rotation and what went over them. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.telemetry import events as ev

ROTATE_AFTER_S = 55 * 60.0
"""Age at which the client renews its socket of its own accord: five minutes before the service's limit of 60."""
MAX_HISTORY = 50
MAX_IN_FLIGHT = 1_000
"""Calls of which it is remembered that they continued a chain."""

State = Literal["open", "closed", "lost"]


class Connection(msgspec.Struct, kw_only=True):
    """One WebSocket. Counts are of calls that were sent over it, warm-ups apart."""

    connection: str
    source: str
    session: str | None
    """None: not known."""
    state: State = "open"
    """`lost`: its process ended without closing it."""
    opened_ns: int | None = None
    """None: its opening was missed."""
    ended_ns: int | None = None
    """None while it is open."""
    last_ns: int = 0
    handshake_ms: float | None = None
    """None: its opening was missed."""
    cause: str | None = None
    """Why it was opened, then why it ended; None if no reason was given."""
    calls: int = 0
    reused: int = 0
    """Calls that continued their chain; one whose chain turned out lost is none."""
    warmups: int = 0
    bytes_up: int = 0
    """Of create frames."""
    bytes_down: int = 0
    """Of everything that the service sent."""
    failed: int = 0
    """Calls that failed."""
    lanes: set[str] = msgspec.field(default_factory=set)
    """Named lanes; the default lane has no name."""
    history: list[tuple[int, str, str | None]] = msgspec.field(default_factory=list)
    """(position, what happened, cause), in order, the latest `MAX_HISTORY`."""

    def age_s(self, now_ns: int) -> float | None:
        """Seconds since it was opened, up to its end; None if its opening was missed."""
        if self.opened_ns is None:
            return None
        return max(0.0, ((self.ended_ns or now_ns) - self.opened_ns) / 1e9)

    def rotates_in_s(self, now_ns: int) -> float | None:
        """Seconds until the client renews it; None unless it is open."""
        age = self.age_s(now_ns)
        return None if age is None or self.state != "open" else ROTATE_AFTER_S - age


class ConnectionBook:
    """Keeps the latest `max_connections`."""

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self.rows: dict[str, Connection] = {}
        self._chained: dict[str, Connection] = {}
        """By call, where its latest attempt continued a chain."""

    def current(self) -> Connection | None:
        """The open connection that was used last, else the one used last; None before the first."""
        return max(self.rows.values(), key=lambda row: (row.state == "open", row.last_ns), default=None)

    def newest_first(self) -> list[Connection]:
        """Open ones first, then by last use."""
        return sorted(self.rows.values(), key=lambda row: (row.state != "open", -row.last_ns))

    def apply(self, event: ev.Event, at_ns: int) -> None:
        if event.connection is None or isinstance(event, ev.ServiceCall):
            return  # the service names its side of a connection by ids of its own
        row = self.rows.get(event.connection)
        if row is None:
            row = Connection(connection=event.connection, source=event.source, session=event.session)
            self.rows[event.connection] = row
            self._trim()
        row.last_ns = max(row.last_ns, at_ns)
        if event.lane is not None and len(row.lanes) < MAX_HISTORY:
            row.lanes.add(event.lane)
        match event:
            case ev.CallSent():
                row.bytes_up += event.bytes_up
                self._sent(row, event)
            case ev.CallCompleted():
                row.bytes_down += event.bytes_down or 0
                row.failed += event.status == "failed"
            case ev.ConnectionOpened() | ev.ConnectionReconnected():
                row.opened_ns = at_ns if row.opened_ns is None else row.opened_ns
                row.handshake_ms = row.handshake_ms if event.handshake_ms is None else event.handshake_ms
                row.cause = event.cause or row.cause
                self._note(row, event, at_ns, event.cause)
            case ev.ConnectionClosed() | ev.ConnectionRotated():
                if row.opened_ns is None:
                    row.opened_ns = at_ns - round(event.age_s * 1e9)
                row.state, row.ended_ns, row.cause = "closed", at_ns, event.cause
                self._note(row, event, at_ns, event.cause)
            case ev.ConnectionPrewarmed() | ev.ConnectionFallback():
                self._note(row, event, at_ns, event.cause)

    def end_source(self, source: str) -> list[str]:
        """The process `source` is gone; ids of the connections that ended with it."""
        ended = [row for row in self.rows.values() if row.source == source and row.state == "open"]
        for row in ended:
            row.state, row.ended_ns = "lost", row.last_ns
        return [row.connection for row in ended]

    def _sent(self, row: Connection, event: ev.CallSent) -> None:
        if event.warmup:
            row.warmups += 1
            return
        before = self._chained.pop(event.call or "", None)
        if before is not None:
            before.reused -= 1
        row.calls += event.attempt == 1
        if event.reuse == "reused" and event.call is not None:
            row.reused += 1
            self._chained[event.call] = row
            while len(self._chained) > MAX_IN_FLIGHT:
                del self._chained[next(iter(self._chained))]

    def _note(self, row: Connection, event: ev.Event, at_ns: int, cause: str | None) -> None:
        row.history.append((at_ns, str(type(event).__struct_config__.tag).removeprefix("connection."), cause))
        del row.history[:-MAX_HISTORY]

    def _trim(self) -> None:
        while len(self.rows) > self._max_connections:
            del self.rows[next(iter(self.rows))]
