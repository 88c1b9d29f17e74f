"""What a dashboard shows, folded from telemetry events. Pure: no clock, no files, no tasks.

`State.apply` takes events, `take_dirty` says what changed since it was asked last, and the selectors give what a
screen draws. Terminal and web draw from the same selectors and so show the same numbers. Memory is bounded by the
limits handed in. Times that depend on "now" take it as an argument (nanoseconds since the Unix epoch).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.figures import Targets
from agent_core.telemetry.rollup.prices import LIST_PRICES, NANO, PriceTable
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import CallRow, TurnRow
from agent_core.telemetry.rollup.stages import STAGES
from dashboard.state.connections import ConnectionBook
from dashboard.state.findings import Finding, findings_of
from dashboard.state.lines import TurnLine, line_of
from dashboard.state.savings import SavingsBook
from dashboard.state.silence import GONE_S, silence

MINUTE_NS = 60_000_000_000
MAX_DIRTY = 5_000
"""Ids one set of `Dirty` holds; beyond it `everything` says to draw all anew."""
RATE_SAMPLES = 60
"""Length of the header's rate history."""


class Dirty(msgspec.Struct):
    """What changed since the last `take_dirty`: ids, never events, so that its size follows what is on screen."""

    turns: set[str] = msgspec.field(default_factory=set)
    sessions: set[str] = msgspec.field(default_factory=set)
    connections: set[str] = msgspec.field(default_factory=set)
    ended: list[str] = []
    """Turns that ended, in order."""
    errors: int = 0
    """New entries of `State.errors`."""
    events: int = 0
    """Events folded."""
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.events) or self.everything


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The strip at the top; None = unknown, to be left out or shown as `–`."""

    transport: ev.TransportKind | None
    """Of the latest call."""
    connection: str | None
    connection_state: str | None
    """`open`, `closed` or `lost`; None before the first connection."""
    connection_age_s: float | None
    rotates_in_s: float | None
    live_rate: float | None
    """Estimated tokens per second of what streams now; None when idle, or before anything can be told."""
    rates: tuple[float, ...]
    """History of the live rate, oldest first, at most `RATE_SAMPLES`."""
    ttft_ms: float | None
    """Of the latest call that has one."""
    cache_ratio: float | None
    """Of the latest call that reports it."""
    cost_usd: float | None
    """Since the instant asked for; None if no call of that time has a known cost."""
    cost_partial: bool
    """Some calls of that time have no known cost."""
    running: int
    """Turns that run."""
    approvals: int


class State:
    """`apply` every event in order; read the rest at any time."""

    def __init__(
        self,
        *,
        prices: PriceTable = LIST_PRICES,
        targets: Targets | None = None,
        max_turns: int = 2000,
        max_raw: int = 2000,
        max_errors: int = 500,
        by_position: bool = True,
    ) -> None:
        """`max_turns` ended turns are kept with their calls, `max_raw` events as they came, `max_errors` findings.
        `by_position`: a source is heard of at the instants that its events tell; else only `hear` says so, by the clock
        of who receives them."""
        self.rollup = Rollup(prices=prices, targets=targets, max_turns=max_turns)
        self.raw: deque[ev.Event] = deque(maxlen=max_raw)
        self.errors: deque[Finding] = deque(maxlen=max_errors)
        """Newest last."""
        self.savings = SavingsBook(max_calls=max_turns * 20, max_sessions=max_turns)
        self.connections = ConnectionBook(max_connections=max_turns)
        self.events = 0
        """Events folded so far, repeats left out."""
        self.last_ns: int | None = None
        """Position of the latest event."""
        self._lines: dict[str, TurnLine] = {}
        self._running: dict[str, None] = {}
        self._rates: deque[float] = deque(maxlen=RATE_SAMPLES)
        self._latest: dict[str, tuple[int, Any]] = {}
        """Of the header: what was latest in time, with its instant. Sources come one after the other, not by time."""
        self._by_position = by_position
        self._heard: dict[str, int] = {}
        """By source: when it was heard of last."""
        self._max_turns = max_turns
        self._dirty = Dirty()

    # Taking events

    def apply(self, event: ev.Event) -> bool:
        """Fold one event; False if it was seen before. Turns of its source that were given up go on."""
        taken = self.take(event)
        self.rollup.settle()
        return taken

    def take(self, event: ev.Event) -> bool:
        """`apply`, but what late events change of ended turns waits for `rollup.settle`."""
        for turn in self.rollup.given_up(event.source):
            self._resume(turn)
        if not self.rollup.take(event):
            return False
        at_ns = event.mono_ns - self.rollup.axis.mono_ns(event.source, 0)
        self.events += 1
        self.last_ns = at_ns if self.last_ns is None else max(self.last_ns, at_ns)
        if self._by_position:
            self.hear(event.source, at_ns)
        self.raw.append(event)
        self.connections.apply(event, at_ns)
        self._note_call(event, at_ns)
        for finding in findings_of(event, at_ns, self.errors):
            self.errors.append(finding)
            self._dirty.errors += 1
        self._mark(event)
        return True

    def apply_all(self, events: Iterable[ev.Event]) -> State:
        for event in events:
            self.apply(event)
        return self

    def end_source(self, source: str) -> None:
        """The process that wrote as `source` is gone: what it left open counts as lost."""
        for connection in self.connections.end_source(source):
            self._dirty.connections.add(connection)
            self._dirty.everything = True

    def hear(self, source: str, at_ns: int) -> None:
        """A source was heard of at an instant."""
        self._heard[source] = max(at_ns, self._heard.get(source, 0))

    def lapse(self, turn: str) -> None:
        """A reported turn whose end nobody tells is not running any more, until more of it is reported."""
        self.rollup.lapse(turn)
        if turn in self._running:
            del self._running[turn]
            self._dirty.ended.append(turn)
        self._lines.pop(turn, None)
        self._dirty.turns.add(turn)
        self._dirty.everything = True

    def give_up(self, turn: str) -> None:
        """A running turn counts as interrupted at its last activity, until its source comes back."""
        self.rollup.give_up(turn)
        if turn in self._running:
            del self._running[turn]
            self._dirty.ended.append(turn)
        self._lines.pop(turn, None)
        self._dirty.turns.add(turn)
        self._dirty.everything = True

    def give_up_silent(self, now_ns: int) -> None:
        """Give up the turns of sources that are not heard of for `silence.GONE_S`."""
        for turn in self.running:
            heard_ns = self._heard.get(self.rollup.turns[turn].source, now_ns)
            if now_ns - heard_ns >= GONE_S * 1e9:
                self.give_up(turn)

    def sample_rate(self, now_ns: int) -> None:
        """Add the live rate of now to the header's history (0 when idle); call it about once a second."""
        self._rates.append(self.rollup.live_rate(now_ns) or 0.0)

    def take_dirty(self) -> Dirty:
        """What changed since the last call of this."""
        taken, self._dirty = self._dirty, Dirty()
        return taken

    # What to draw

    @property
    def running(self) -> list[str]:
        """Ids of the turns that run, oldest first."""
        return list(self._running)

    def turn_line(self, turn: str, now_ns: int) -> TurnLine | None:
        """One line of the list of turns; a running one as it stands at `now_ns`."""
        row = self.rollup.turns.get(turn)
        if row is None:
            return None
        if row.status is None:
            live_rate = self.rollup.live_rate(now_ns, row.session) or None
            silent_s = silence(self._heard.get(row.source, now_ns), now_ns)
            return line_of(self.rollup, self.rollup.turn_now(turn, now_ns), live_rate, silent_s)
        line = self._lines.get(turn)
        if line is None:
            line = self._lines[turn] = line_of(self.rollup, row, None)
        return line

    def turn_lines(
        self, now_ns: int, *, wanted: Callable[[TurnLine], bool] | None = None, limit: int | None = None
    ) -> list[TurnLine]:
        """Turns, newest first, those that are `wanted`, at most `limit`."""
        found: list[TurnLine] = []
        for turn in self.turn_ids():
            line = self.turn_line(turn, now_ns)
            if line is not None and (wanted is None or wanted(line)):
                found.append(line)
                if limit is not None and len(found) >= limit:
                    break
        return found

    def turn_ids(self) -> Iterator[str]:
        """Ids of the turns, newest first."""
        rows = sorted(self.rollup.turns.values(), key=_started_ns, reverse=True)
        return (row.turn for row in rows)

    def calls_of(self, turn: str) -> list[CallRow]:
        """The calls of a turn in the order of first sending, warm-ups left out."""
        row = self.rollup.turns.get(turn)
        return [] if row is None else [call for call in _rows(self.rollup, row) if not call.warmup]

    def stages_ms(self, turn: str, now_ns: int) -> dict[str, float]:
        """The five stages of a turn in ms; they add up to its duration."""
        row = self.rollup.turn_now(turn, now_ns)
        return {stage: row.stages_ns.get(stage, 0) / 1_000_000 for stage in STAGES}

    def cost_since(self, since_ns: int) -> tuple[float | None, bool]:
        """(cost in US dollars of the calls that ended since the minute of `since_ns`, whether some have no known cost).

        The cost is None if none is known.
        """
        nano, known, unknown = 0, 0, 0
        for minute, figures in self.rollup.groups.windows.items():
            if minute >= since_ns // MINUTE_NS:
                nano, known, unknown = (
                    nano + figures.cost_nano, known + figures.cost_known, unknown + figures.cost_unknown
                )  # fmt: skip
        return (nano / NANO if known else None), bool(unknown)

    def header(self, now_ns: int, since_ns: int) -> Header:
        """The strip at the top at `now_ns`; the cost counts from `since_ns` on (midnight of whoever looks)."""
        cost, partial = self.cost_since(since_ns)
        current = self.connections.current()
        return Header(
            transport=self._latest_of("transport"),
            connection=current.connection if current is not None else None,
            connection_state=current.state if current is not None else None,
            connection_age_s=current.age_s(now_ns) if current is not None else None,
            rotates_in_s=current.rotates_in_s(now_ns) if current is not None else None,
            live_rate=self.rollup.live_rate(now_ns) or None,
            rates=tuple(self._rates),
            ttft_ms=self._latest_of("ttft_ms"),
            cache_ratio=self._latest_of("cache_ratio"),
            cost_usd=cost,
            cost_partial=partial,
            running=len(self._running),
            approvals=sum(len(self.pending_approvals(turn)) for turn in self._running),
        )

    def pending_approvals(self, turn: str) -> list[str]:
        """Ids of a running turn's approvals that nobody answered yet."""
        row = self.rollup.turns.get(turn)
        if row is None or row.status is not None:
            return []
        return [approval.approval for approval in row.approvals if approval.resolved_ns is None]

    # Keeping track

    def _resume(self, turn: str) -> None:
        self.rollup.resume(turn)
        row = self.rollup.turns.get(turn)
        if row is not None and row.status is None:
            self._running.setdefault(turn)
        self._lines.pop(turn, None)
        self._dirty.turns.add(turn)

    def _note_call(self, event: ev.Event, at_ns: int) -> None:
        if isinstance(event, ev.CallSent):
            self.savings.sent(event)
            if not event.warmup:
                self._note_latest("transport", event.transport, at_ns)
            return
        if not isinstance(event, ev.CallCompleted | ev.CallFirstDelta | ev.CallReported):
            return
        row = self.rollup.calls.get(event.call or "")
        if row is None:
            return
        if isinstance(event, ev.CallCompleted):
            self.savings.completed(row)
        if not row.warmup:
            self._note_latest("ttft_ms", row.ttft_ms, at_ns)
            self._note_latest("cache_ratio", row.cache_ratio, at_ns)

    def _note_latest(self, name: str, value: object, at_ns: int) -> None:
        """Known values only: an unknown one hides none."""
        if value is not None and at_ns >= self._latest.get(name, (0, None))[0]:
            self._latest[name] = (at_ns, value)

    def _latest_of(self, name: str) -> Any:
        return self._latest.get(name, (0, None))[1]

    def _mark(self, event: ev.Event) -> None:
        dirty = self._dirty
        dirty.events += 1
        if event.turn is not None:
            row = self.rollup.turns.get(event.turn)
            if row is not None and row.status is None:
                self._running.setdefault(event.turn)
            elif event.turn in self._running:
                del self._running[event.turn]
                dirty.ended.append(event.turn)
            self._lines.pop(event.turn, None)
            dirty.turns.add(event.turn)
        if event.session is not None:
            dirty.sessions.add(event.session)
        if event.connection is not None:
            dirty.connections.add(event.connection)
        if len(dirty.turns) + len(dirty.sessions) + len(dirty.connections) + len(dirty.ended) > MAX_DIRTY:
            self._dirty = Dirty(errors=dirty.errors, events=dirty.events, everything=True)
        if len(self._lines) > self._max_turns:
            kept = self.rollup.turns
            self._lines = {turn: line for turn, line in self._lines.items() if turn in kept}


def _rows(rollup: Rollup, row: TurnRow) -> Iterator[CallRow]:
    for call in row.calls:
        found = rollup.calls.get(call)
        if found is not None:
            yield found


def _started_ns(row: TurnRow) -> int:
    return row.started_ns
