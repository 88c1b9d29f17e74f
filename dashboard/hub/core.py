"""The hub: takes events of agents and of this machine, folds them per source, has them written, and tells what changed.

Runs on one event loop, which owns all state here; only the store's calls run in threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple, TypeVar

import msgspec

from agent_core.clock import Clock
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import Event
from agent_core.telemetry.rollup.axis import parse_time_ns
from dashboard.hub import housekeeping
from dashboard.hub.ingest.ndjson import Batch, Refused, check_steps
from dashboard.hub.live.recent import SPAN_S, Recent
from dashboard.hub.live.ring import Live
from dashboard.hub.live.rows import error_of, live_row
from dashboard.hub.metrics import Counters, Since
from dashboard.hub.people.limits import NewSources
from dashboard.hub.settings import HubSettings
from dashboard.hub.sources.owners import Owners, names_of
from dashboard.hub.sources.registry import SLICE, Roster
from dashboard.hub.sources.state import Changes, Member, kind_of, plausible_us, subject_of
from dashboard.hub.store.port import Store, StoreError
from dashboard.hub.store.records import SAMPLE, Claim, EventRow, Expired, Flush, SourceRecord, day_of
from dashboard.hub.tasks import owned
from dashboard.hub.writing import Moved, Writing
from dashboard.state.believed import Teller
from dashboard.state.silence import GONE_S, SILENT_S, silence, silent_words

log = logging.getLogger(__name__)

ACK_S = 8.0
"""How long an agent waits for its events to be durable before it is told to come again; less than agents wait."""
TICK_S = 0.25
TRIES = 5
"""How often a batch is folded anew because another hub wrote to its source meanwhile."""

Answer = TypeVar("Answer")


class Taken(NamedTuple):
    """What became of a batch. `acked`: its last sequence, durable like all before it. `late`: events of it that came
    behind later ones of their source; they are not kept."""

    acked: int
    late: int


class Hub:
    """`start` it, `accept` batches, ask; `stop` it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: HubSettings,
        services: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        """`services`: asks for the identities that the hub's admin has marked as services; it may block a little."""
        self.store, self.clock, self.settings = store, clock, settings
        self._services = services
        self.live = Live()
        self.counters, self.since = Counters(), Since()
        self.writing = Writing(store, self._count, self._written, self._moved)
        self.roster = Roster(store, clock, settings, self.writing.cell)
        self.positions: dict[str, int] = {}
        """Last durable event position by day."""
        self.expired = Expired()
        """Of the latest run of retention."""
        self.began_us = self.now_us()
        self._recent: dict[str, Recent] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._new_sources = NewSources()
        self._silent: dict[str, str] = {}
        """What the running turns of silent sources are said to be, by source."""
        self._owners = Owners(self._asked_owners)
        self.on_written: Callable[[Flush], None] = lambda flush: None
        """Called with each unit that is durable."""
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read where the store stands and bring back what runs. Raises `StoreError`."""
        await self.roster.load()
        self.writing.durable = {record.source: record.seq for record in self.roster.sources.values()}
        self.positions = await self.ask(self.store.positions)
        now_s = self.now_ns() // 1_000_000_000
        for team in {record.team for record in self.roster.sources.values()}:
            tokens: dict[int, int] = {}
            for bucket, _, cell in await self.ask(self.store.cells, 60, now_s - SPAN_S, now_s + 60, team):
                self.recent(team).add(bucket, cell.figures, now_s)
                tokens[bucket] = tokens.get(bucket, 0) + cell.figures.output_tokens
            self.recent(team).seed(tokens, now_s)
        self.writing.start()
        self._tasks = [
            owned(self._tick(), "hub-tick"),
            owned(self._keep_house(), "hub-housekeeping"),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.writing.stop()
        self.roster.close()

    async def ask(self, question: Callable[..., Answer], *arguments: object) -> Answer:
        """Run one of the store's questions in a thread."""
        return await self.roster.ask(question, *arguments)

    async def _asked_owners(self, team: str, names: Sequence[str]) -> Mapping[str, str]:
        return await self.ask(self.store.owners, team, names)

    def now_ns(self) -> int:
        return self.clock.wall_ns()

    def now_us(self) -> int:
        return self.clock.wall_ns() // 1000

    def recent(self, team: str) -> Recent:
        return self._recent.setdefault(team, Recent())

    def teams(self, team: str | None) -> list[str]:
        """The teams seen so far that who sees `team` (None: all) may see."""
        return [name for name in self._recent if team in (None, name)]

    async def believed(self, team: str, agent: str) -> frozenset[str]:
        """The sources whose `service.call` counts for the turns of an identity: its own, and its team's services'."""
        who = {agent, *await self.ask(self._services)}
        return frozenset(
            name for name, record in self.roster.sources.items() if record.team == team and record.agent in who
        )

    async def tellers(self, sources: Iterable[str]) -> dict[str, Teller]:
        """Who brought these sources, as far as they are known."""
        services = await self.ask(self._services)
        found = ((source, self.roster.sources.get(source)) for source in sources)
        return {
            source: Teller(record.team, record.agent, record.agent in services)
            for source, record in found
            if record is not None
        }

    def apply_settings(self, settings: HubSettings) -> None:
        self.settings = settings
        self.roster.use(settings)

    # Taking events

    def acked(self, team: str, agent: str, source: str) -> int:
        """The last durable sequence of a source of this identity, 0 if it is new."""
        return self.writing.durable.get(self.roster.key(team, agent, source), 0)

    async def acked_now(self, team: str, agent: str, source: str) -> int:
        """As `acked`, whichever hub took it. Raises `StoreError`."""
        if not self.store.shared:
            return self.acked(team, agent, source)
        found = await self.ask(self.store.some_sources, names_of(team, agent, source))
        return next((record.seq for record in found if (record.team, record.agent) == (team, agent)), 0)

    async def accept(self, team: str, agent: str, batch: Batch, after: int | None = None) -> Taken:
        """Take a batch of an identity; what it answers covers the batch and nothing beyond. Raises `Refused`.

        `after`: the last sequence that was acknowledged to who pushes; None: it does not say.
        """
        if self.writing.behind:
            raise _refusal(self.writing.last_error)

        async def fold(key: str) -> tuple[int, int]:
            known = self.roster.sources[key].seq if key in self.roster.sources else 0
            check_steps(batch, known, after)
            return await self._fold(self._record(team, agent, key), batch), batch.last_seq

        late = await self._folded(team, agent, batch.source, fold)
        self.counters.batches += 1
        self.counters.passed_over += batch.passed_over
        return Taken(acked=batch.last_seq, late=late)

    async def _folded(
        self, team: str, agent: str, source: str, fold: Callable[[str], Awaitable[tuple[Answer, int]]]
    ) -> Answer:
        """Call `fold` with the name that a source has here while nobody else folds it, and wait until the sequence that
        it gives is durable; again, if another hub wrote to the source meanwhile. Raises `Refused`."""
        try:
            for _ in range(TRIES):
                key = self.roster.key(team, agent, source)
                try:
                    async with self.turn_of(key):
                        reached = await self.roster.renew(key)
                        if reached is not None:
                            self.writing.durable[key] = reached
                        if self.roster.key(team, agent, source) != key:
                            continue
                        moves = self.writing.moves[key]
                        answer, last = await fold(key)
                    await self.writing.until_durable(key, last, ACK_S, moves)
                except Moved:
                    continue
                return answer
            raise Moved("other hubs write to this source")
        except StoreError as error:
            raise _refusal(error) from error

    @contextlib.asynccontextmanager
    async def turn_of(self, key: str) -> AsyncIterator[None]:
        """Within, nobody else folds what a source brings."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    async def accept_made(
        self,
        team: str,
        agent: str,
        source: str,
        keys: Sequence[str],
        asked: Sequence[str],
        make: Callable[[Member, set[str], set[str]], list[Event]],
    ) -> int:
        """Take events that are made here, which get the source's next sequences; they are durable when this is back.

        `keys` are claimed with them; `make` gets the source and those that were not claimed before, and which of the
        names of `asked` are known. Gives how many keys were new. Raises `Refused`.
        """
        if self.writing.behind:
            raise _refusal(self.writing.last_error)

        async def fold(key: str) -> tuple[int, int]:
            record = self._record(team, agent, key)
            member = await self.roster.member(record)
            day = day_of(self.now_us())
            known = await self._owners.known(team, asked)
            fresh, claims = await self._owners.fresh(record, keys, day)
            made = make(member, fresh, known)
            numbered = [
                msgspec.structs.replace(event, source=key, seq=record.seq + number)
                for number, event in enumerate(made, 1)
            ]
            await self._fold_new(member, numbered, record.seq + len(made), claims, day)
            return len(fresh), record.seq

        fresh = await self._folded(team, agent, source, fold)
        self.counters.batches += 1
        self.counters.repeated += len(keys) - fresh
        return fresh

    def _record(self, team: str, agent: str, key: str) -> SourceRecord:
        record = self.roster.sources.get(key)
        if record is None:
            if self._new_sources.take(f"{team}/{agent}", self.clock.mono_ns()):
                message = "too many new sources of this token"
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too_many_sources", message, retry_after_s=60)
            record = SourceRecord(source=key, team=team, agent=agent, seen_us=self.now_us())
            self.roster.sources[key] = record
        return record

    async def _fold(self, record: SourceRecord, batch: Batch) -> int:
        new = [event for event in batch.events if event.seq > record.seq]
        late = await self._late(record, batch)
        self.counters.repeated += len(batch.events) - len(new) - late
        self.counters.late += late
        if batch.last_seq <= record.seq:
            return late
        member = await self.roster.member(record)
        await self._fold_new(member, new, batch.last_seq, [], day_of(self.now_us()))
        return late

    async def _fold_new(
        self, member: Member, events: list[Event], last_seq: int, claims: list[Claim], day: str
    ) -> None:
        """Fold events that were not folded before, in slices; `claims` go with the first."""
        counted, ways = await self._owners.once(member.source, events, day)
        new, owned_names = await self._owners.own(member.source, counted, day)
        claims = [*claims, *ways, *owned_names]
        for start in range(0, max(1, len(new)), SLICE):
            some = new[start : start + SLICE]
            last = start + SLICE >= len(new)
            self._fold_slice(member, some, last_seq if last else some[-1].seq, [] if start else claims)
            await asyncio.sleep(0)

    async def _late(self, record: SourceRecord, batch: Batch) -> int:
        """How many events of the batch are not new and not here either: they can't be counted any more."""
        old = [event for event in batch.events if event.seq <= record.seq]
        if not old:
            return 0
        await self.writing.until_durable(record.source, old[-1].seq, ACK_S)
        days = [day for day in await self.ask(self.store.days) if record.first_day <= day <= record.last_day]
        kept = await self.ask(self.store.kept, record.source, days, [event.seq for event in old])
        gone = [event for event in old if event.seq not in kept and kind_of(type(event)) != SAMPLE]
        return sum(bool(days) and _row(record, event, self.now_us()).day >= days[0] for event in gone)

    def _fold_slice(self, member: Member, events: list[Event], reached: int, claims: list[Claim]) -> None:
        """Fold, and put what comes of it into the next unit; nothing else may run in between."""
        record, now_us, unfit = member.source, self.now_us(), member.unfit
        member.fold(events, now_us)
        changes = member.take(self.now_ns())
        changes.claims = claims
        rows = [_row(record, event, now_us) for event in events]
        days = [row.day for row in rows]
        self.recent(record.team)
        record.seq, record.seen_us = reached, now_us
        record.events += len(rows)
        record.first_day = min([*days, record.first_day or "9999"])
        record.last_day = max([*days, record.last_day])
        self.writing.add(record, rows, changes)
        self.counters.events += len(rows)
        self.counters.unfit += member.unfit - unfit
        self.tell(member, changes)

    def _count(self, flush: Flush) -> None:
        """Keep the figures of the last minutes, and those of `/metrics`."""
        now_s = self.now_ns() // 1_000_000_000
        for key, cell in flush.cells.items():
            self.recent(key.team).add(key.bucket, cell.figures, now_s)
            self.since.add(key.team, key.dims, cell)

    # Telling

    def tell(self, member: Member, changes: Changes) -> None:
        team, now_ns = member.source.team, self.now_ns()
        rows = [live_row(member, turn, now_ns) for turn in changes.ended]
        errors = [error_of(finding, team, member.source.agent) for finding in changes.errors]
        self.live.mark(
            team,
            changes.dirty,
            [msgspec.json.encode(row) for row in rows if row is not None],
            [msgspec.json.encode(error) for error in errors],
        )

    def _written(self, flush: Flush, positions: dict[str, int]) -> None:
        self.positions.update(positions)
        self.on_written(flush)

    def _moved(self, sources: set[str], claims: list[Claim]) -> None:
        """What was folded of these sources is void: another hub is ahead."""
        self._owners.forget(claims)
        for source in sources:
            member = self.roster.drop(source)
            if member is not None:
                self.live.mark(member.source.team, set(member.state.running), [], [])

    async def _tick(self) -> None:
        """Close a tick of changes four times a second, and once a second sample the rates."""
        sampled_s = 0
        while True:
            await self.clock.sleep(TICK_S)
            now_s = self.now_ns() // 1_000_000_000
            if now_s != sampled_s:
                sampled_s = now_s
                self._sample(now_s)
                self.watch_silence()
            self.live.tick()

    def watch_silence(self) -> None:
        """Have the running turns of silent sources told anew each minute, and give up those of sources that are gone.

        A hub that has just begun waits for them first: they may have had nobody to speak to.
        """
        now_us = self.now_us()
        listened = now_us - self.began_us >= SILENT_S * 1e6
        for member in self.roster.members(None):
            running = member.state.running
            silent_s = silence(member.source.seen_us * 1000, now_us * 1000) if running else None
            words = "" if silent_s is None else silent_words(silent_s)
            if words != self._silent.get(member.source.source, ""):
                self._silent[member.source.source] = words
                self.live.mark(member.source.team, set(running), [], [])
            if not words:
                self._silent.pop(member.source.source, None)
            if silent_s is not None and silent_s >= GONE_S and listened:
                member.give_up(now_us)
                changes = member.take(now_us * 1000)
                self.writing.add(member.source, [], changes)
                self.tell(member, changes)

    def _sample(self, now_s: int) -> None:
        now_ns = self.now_ns()
        rates: dict[str, float] = dict.fromkeys(self._recent, 0.0)
        for member in self.roster.members(None):
            if not member.state.running:
                continue
            rate = member.state.rollup.live_rate(now_ns)
            if rate is not None:
                rates[member.source.team] = rates.get(member.source.team, 0.0) + rate
                self.live.mark(member.source.team, set(member.state.running), [], [])
        for team, rate in rates.items():
            self.recent(team).sample(now_s, rate)

    async def _keep_house(self) -> None:
        while True:
            await self.keep_house_once()
            await self.clock.sleep(1.0 if self.expired.backlog else housekeeping.EVERY_S)

    async def keep_house_once(self) -> None:
        """Drop quiet sources from memory, and what is too old from the store."""
        for member in self.roster.forget_idle(set(self._locks)):
            self.live.mark(member.source.team, set(member.state.running), [], [])
        try:
            self.expired = await self.ask(housekeeping.expire, self.store, self.settings, self.now_us())
        except StoreError as error:
            log.warning("retention could not run: %s", error.message)
        else:
            days = set(await self.ask(self.store.days))
            self.positions = {day: last for day, last in self.positions.items() if day in days}


def event_us(event: Event) -> int:
    """The event's own wall time in microseconds; 0 if it has none that can be read."""
    try:
        return parse_time_ns(event.time) // 1000
    except (ValueError, TypeError):
        return 0


def _row(record: SourceRecord, event: Event, now_us: int) -> EventRow:
    at_us = plausible_us(event_us(event), now_us)
    return EventRow(
        day_of(at_us), record.source, record.team, event.seq, at_us, subject_of(event), kind_of(type(event)),
        encode_event(event),
    )  # fmt: skip


def _refusal(error: StoreError | None) -> Refused:
    if error is not None and error.code == "store_full":
        message = "the hub's disk is full; send again later"
        return Refused(HTTPStatus.INSUFFICIENT_STORAGE, "store_full", message, retry_after_s=30)
    message = "the hub's store is behind; send again later"
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE, "store_behind", message, retry_after_s=5)
