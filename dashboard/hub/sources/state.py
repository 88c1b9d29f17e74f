"""The live state of one source: its events folded as every dashboard folds them, and what that adds to the store. Pure.

Each source has a state of its own. What a hostile one can make it hold is bounded here, and forgetting it harms nobody
else.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agent_core.telemetry.events import (
    CallCompleted,
    CallProgress,
    ConnectionClosed,
    ConnectionFallback,
    ConnectionOpened,
    ConnectionPrewarmed,
    ConnectionReconnected,
    ConnectionRotated,
    Event,
    ServiceCall,
    SessionStarted,
    SourceAlive,
    TurnFinished,
)
from agent_core.telemetry.rollup.figures import Targets
from agent_core.telemetry.rollup.groups import Groups
from agent_core.telemetry.rollup.prices import PriceTable
from agent_core.telemetry.rollup.rows import CallRow, TurnRow
from dashboard.hub.ingest.names import Names
from dashboard.hub.store.records import (
    CONTEXT,
    ORDINARY,
    SAMPLE,
    Cell,
    CellKey,
    Claim,
    Dims,
    EventKind,
    FindingRecord,
    SourceRecord,
    TurnRecord,
    day_of,
    response_subject,
)
from dashboard.state.findings import Finding
from dashboard.state.fold import State
from dashboard.state.format import one_line
from dashboard.state.lines import TurnLine
from dashboard.state.savings import Savings

MAX_TURNS = 50
"""Ended turns a source keeps in memory; the store has all."""
MAX_OPEN_TURNS = 100
"""Turns a source may have open; the oldest counts as interrupted beyond it."""
MAX_WEIGHT = 20_000
"""Events with new ids after which the state is begun anew once no turn runs."""
_CONTEXT_TYPES = (
    SessionStarted,
    ConnectionOpened,
    ConnectionPrewarmed,
    ConnectionRotated,
    ConnectionReconnected,
    ConnectionFallback,
    ConnectionClosed,
)
_UNFIT = (ValueError, ArithmeticError, LookupError)
_encode = msgspec.json.encode


class Changes(msgspec.Struct):
    """What folding added, to be written and told."""

    turns: dict[str, TurnRecord] = msgspec.field(default_factory=dict)
    findings: list[FindingRecord] = msgspec.field(default_factory=list)
    errors: list[Finding] = msgspec.field(default_factory=list)
    """What the records in `findings` hold."""
    claims: list[Claim] = msgspec.field(default_factory=list)
    """Sessions and turns that the events brought first."""
    dirty: set[str] = msgspec.field(default_factory=set)
    ended: list[str] = msgspec.field(default_factory=list)


class Member:
    """`replay` what the store has, then `fold` what comes; `take` the changes after each slice of events."""

    def __init__(self, source: SourceRecord, names: Names, targets: Targets, cell: Callable[[CellKey], Cell]) -> None:
        """`cell` gives the roll-up cell of a minute that what ends is to be added to."""
        self.source = source
        self._names, self._targets, self._minute = names, targets, cell
        self._changes = Changes()
        self._counted: dict[str, Savings] = {}
        self._recording = False
        self._at_us = 0
        self.weight = 0
        self.unfit = 0
        """Events that could not be folded; each is left out."""
        self.state = self._new_state()

    def replay(self, events: list[Event]) -> None:
        """Fold events that were counted before."""
        for event in events:
            self._apply(event)
        self._settle()
        self.state.hear(self.source.source, self.source.seen_us * 1000)
        self._changes = Changes()

    def fold(self, events: list[Event], now_us: int) -> None:
        """Fold new events. `now_us`: the hub's clock, for events whose own time can't be."""
        self._recording = True
        self.state.hear(self.source.source, now_us * 1000)
        for event in events:
            self._at_us = now_us
            self._apply(event)
        self._settle()
        self._recording = False

    def follow(self, events: list[Event], now_us: int, cell: Callable[[CellKey], Cell]) -> None:
        """Fold events that another hub counted: what is to be told is as for `fold`, the sums go to `cell`."""
        kept, self._minute = self._minute, cell
        try:
            self.fold(events, now_us)
        finally:
            self._minute = kept

    def give_up(self, now_us: int) -> None:
        """Nothing is heard of the source: what runs counts as interrupted, until it comes back."""
        self._recording, self._at_us = True, now_us
        for turn in self.state.running:
            if self.source.reported:
                self.state.lapse(turn)
            else:
                self.state.give_up(turn)
        self._settle()
        self._recording = False

    def know_given_up(self, turns: set[str]) -> None:
        """After a replay: these were given up, and counted so, before."""
        for turn in self.state.running:
            if turn in turns:
                self.state.give_up(turn)
        self.state.take_dirty()

    def take(self, now_ns: int) -> Changes:
        """The changes since it was asked last."""
        dirty = self.state.take_dirty()
        changes, self._changes = self._changes, Changes()
        changes.dirty = {turn for turn in dirty.turns if turn in self.state.rollup.turns}
        changes.ended = dirty.ended
        for turn in changes.dirty:
            row = self.state.rollup.turns[turn]
            if row.status is not None or turn not in self._stored:
                self._stored.add(turn)
                line = self.state.turn_line(turn, now_ns)
                if line is not None:
                    changes.turns[turn] = self._turn_record(line, row)
        self._stored &= self.state.rollup.turns.keys()
        if self.weight > MAX_WEIGHT and (not self.state.running or self.weight > 3 * MAX_WEIGHT):
            self._begin_anew()
        return changes

    def use(self, prices: PriceTable, targets: Targets) -> None:
        """Count what ends from now on with these."""
        self._targets = targets
        self.state.rollup.prices, self.state.rollup.targets = prices, targets

    def latest_call(self, turn: str) -> CallRow | None:
        calls = self.state.calls_of(turn)
        return calls[-1] if calls else None

    # Folding

    def _apply(self, event: Event) -> None:
        before = self.state.errors[-1] if self.state.errors else None
        if not isinstance(event, CallProgress | SourceAlive):
            self.weight += 1
        self._stored.difference_update(self.state.rollup.given_up(event.source))
        try:
            self.state.take(event)
        except _UNFIT:
            self.unfit += 1
            return
        if not self._recording:
            return
        if isinstance(event, CallCompleted):
            self._count_savings(event.call or "")
        latest = self.state.errors[-1] if self.state.errors else None
        if latest is not None and latest is not before:
            about = self.state.rollup.sessions.get(latest.session or "")
            latest = msgspec.structs.replace(latest, client=None if about is None else about.client)
            self.state.errors[-1] = latest
            self._changes.errors.append(latest)
            self._changes.findings.append(
                FindingRecord(
                    team=self.source.team,
                    source=self.source.source,
                    seq=event.seq,
                    at_us=self._when(latest.at_ns),
                    severity=latest.severity,
                    code=one_line(latest.code, 80),
                    agent=self.source.agent,
                    turn=latest.turn or "",
                    body=_encode(latest),
                )
            )
        if len(self.state.running) > MAX_OPEN_TURNS:
            oldest = self.state.running[0]
            if self.source.reported:
                self.state.lapse(oldest)
            else:
                self._interrupt(oldest, event)

    def _settle(self) -> None:
        """Once a slice: else a turn with many calls is worked out anew for each that comes late."""
        while True:
            try:
                return self.state.rollup.settle()
            except _UNFIT:
                self.unfit += 1

    def _interrupt(self, turn: str, event: Event) -> None:
        """End a turn that its source seems to have forgotten."""
        row = self.state.rollup.turns[turn]
        self.state.take(
            TurnFinished(
                v=event.v,
                source=event.source,
                time=event.time,
                mono_ns=event.mono_ns,
                session=row.session,
                turn=turn,
                status="interrupted",
                duration_ms=row.duration_ms,
                stages_ms=row.stages_ms,
                calls=0,
                tools=0,
            )
        )

    def _call_ended(self, row: CallRow, sign: int) -> None:
        if self._recording:
            self._cell(row.ended_ns, self._dims_of(row)).figures.add_call(row, sign)

    def _turn_ended(self, row: TurnRow, good: bool, models: set[str], sign: int) -> None:
        if not self._recording:
            return
        calls = [call for call in (self.state.rollup.calls.get(name) for name in row.calls) if call is not None]
        transports = {call.transport for call in calls if call.transport is not None and not call.warmup}
        dims = self._dims(
            row.session,
            next(iter(models)) if len(models) == 1 else "",
            str(next(iter(transports))) if len(transports) == 1 else "",
            "",
        )
        self._cell(row.ended_ns, dims).figures.add_turn(row, good, sign)

    def _count_savings(self, call: str) -> None:
        row, now = self.state.rollup.calls.get(call), self.state.savings.calls.get(call)
        if row is None or now is None:
            return
        savings = self._cell(row.ended_ns, self._dims_of(row)).savings
        before = self._counted.get(call)
        if before is not None:
            savings.add(before, -1)
        savings.add(now)
        self._counted[call] = msgspec.structs.replace(now)
        if len(self._counted) > MAX_WEIGHT:
            del self._counted[next(iter(self._counted))]

    def _dims_of(self, row: CallRow) -> Dims:
        return self._dims(row.session, row.model or "", row.transport or "", row.reuse or "")

    def _dims(self, session: str | None, model: str, transport: str, reuse: str) -> Dims:
        about = self.state.rollup.sessions.get(session or "")
        client, _, version = ((about.client or "") if about is not None else "").partition("/")
        project = (about.project or "") if about is not None else ""
        return Dims(self.source.agent, client, version, project, model, transport, reuse)

    def _cell(self, ended_ns: int | None, dims: Dims) -> Cell:
        at_us = self._when(ended_ns or 0)
        bounded = self._names.bounded(day_of(at_us), dims)
        return self._minute(CellKey(60, at_us // 60_000_000 * 60, self.source.team, bounded, self.source.source))

    def _when(self, at_ns: int) -> int:
        return plausible_us(at_ns // 1000, self._at_us)

    def _turn_record(self, line: TurnLine, row: TurnRow) -> TurnRecord:
        latest = self.latest_call(line.turn)
        return TurnRecord(
            team=self.source.team,
            turn=line.turn,
            session=line.session or "",
            source=self.source.source,
            agent=self.source.agent,
            project=line.project or "",
            model=line.models[0] if line.models else "",
            status=line.status or "running",
            reuse=(latest.reuse or "") if latest is not None else "",
            started_us=self._when(line.started_ns),
            ended_us=None if row.ended_ns is None else row.ended_ns // 1000,
            body=_encode(line),
        )

    # Beginning

    def _new_state(self) -> State:
        self._stored: set[str] = set()
        state = State(
            prices=self._names.prices,
            targets=self._targets,
            max_turns=MAX_TURNS,
            max_raw=0,
            max_errors=MAX_TURNS,
            by_position=False,
        )
        state.rollup.groups = _Recorder(self._names.prices, self._call_ended, self._turn_ended)
        return state

    def _begin_anew(self) -> None:
        sessions = list(self.state.rollup.sessions.items())[-MAX_TURNS:]
        self.state, self.weight = self._new_state(), 0
        self._counted.clear()
        self.state.hear(self.source.source, self.source.seen_us * 1000)
        for name, row in sessions:
            row.turns.clear()
            self.state.rollup.sessions[name] = row


class _Recorder(Groups):
    """Stands in for the roll-up's sums: tells what enters instead of keeping it, for the store keeps the sums."""

    def __init__(
        self,
        prices: PriceTable,
        on_call: Callable[[CallRow, int], None],
        on_turn: Callable[[TurnRow, bool, set[str], int], None],
    ) -> None:
        super().__init__(prices, max_windows=1, max_models=1, max_sessions=1)
        self._on_call, self._on_turn = on_call, on_turn

    def add_call(self, row: CallRow, sign: int = 1) -> None:
        self._on_call(row, sign)

    def add_turn(self, row: TurnRow, good: bool, models: set[str], sign: int = 1) -> None:
        self._on_turn(row, good, models, sign)


PAST_US = 400 * 86_400_000_000
FUTURE_US = 86_400_000_000


def plausible_us(at_us: int, now_us: int) -> int:
    """The time an agent claims, or the hub's own if that lies more than 400 days back or a day ahead."""
    return at_us if now_us - PAST_US <= at_us <= now_us + FUTURE_US else now_us


def kind_of(event_type: type[Event]) -> EventKind:
    if event_type in (CallProgress, SourceAlive):
        return SAMPLE
    return CONTEXT if event_type in _CONTEXT_TYPES else ORDINARY


def subject_of(event: Event) -> str:
    """What an event is looked up by, see `records.EventRow`."""
    return response_subject(event.response_id) if isinstance(event, ServiceCall) else event.turn or ""
