"""The sources a hub knows and those it holds in memory. Owned by the event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agent_core.clock import Clock
from agent_core.errors import StateError
from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.events import Event
from dashboard.hub.ingest.names import Names
from dashboard.hub.settings import HubSettings
from dashboard.hub.sources.owners import source_key
from dashboard.hub.sources.state import Member
from dashboard.hub.store.port import Store
from dashboard.hub.store.records import DAY_US, Cell, CellKey, SourceRecord, TurnQuery, TurnRecord, day_of

SLICE = 200
"""Events folded before other work gets its turn, about 5 ms."""
MAX_MEMBERS = 5_000
IDLE_US = 30 * 60_000_000
"""A source without events and without a running turn is dropped from memory after this."""
LOST_US = DAY_US
"""A source with a running turn is, after this."""
LATE_US = 15 * 60_000_000
"""Sources seen within this are brought back at the start."""

Answer = TypeVar("Answer")


class Roster:
    def __init__(self, store: Store, clock: Clock, settings: HubSettings, cell: Callable[[CellKey], Cell]) -> None:
        """`cell` is for `Member`."""
        self._store, self._clock, self._cell = store, clock, cell
        self._prices, self._targets = settings.price_table(), settings.folding_targets()
        self.sources: dict[str, SourceRecord] = {}
        self._stale: set[str] = set()
        """Sources that another hub wrote since they were read."""
        self._members: OrderedDict[str, Member] = OrderedDict()
        """The least recently used first."""
        self._names: dict[tuple[str, str], Names] = {}
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="hub-reader")

    async def ask(self, question: Callable[..., Answer], *arguments: object) -> Answer:
        """Run one of the store's questions in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, question, *arguments)

    def close(self) -> None:
        self._readers.shutdown(wait=True, cancel_futures=True)

    def __len__(self) -> int:
        return len(self._members)

    def members(self, team: str | None) -> Iterator[Member]:
        """Sources in memory of a team (None: of all)."""
        return (member for member in self._members.values() if team in (None, member.source.team))

    def key(self, team: str, agent: str, source: str) -> str:
        """The name that a source of an identity has here."""
        return source_key(self.sources, team, agent, source)

    def holder(self, turn: str, team: str | None) -> Member | None:
        """The source in memory that has a turn."""
        return next((member for member in self.members(team) if turn in member.state.rollup.turns), None)

    async def member(self, record: SourceRecord) -> Member:
        """The source's live state, brought back from the store if it is not in memory."""
        member = self._members.get(record.source)
        if member is None:
            member = self._new_member(record)
            if record.seq:
                await self._bring_back(member)
            while len(self._members) >= MAX_MEMBERS:
                self._members.popitem(last=False)
            self._members[record.source] = member
        self._members.move_to_end(record.source)
        return member

    def drop(self, source: str) -> Member | None:
        """Another hub wrote to it: forget what is in memory, and read it anew before it is used. Gives what was."""
        self._stale.add(source)
        return self._members.pop(source, None)

    def holds(self, source: str) -> bool:
        """Whether a source is in memory."""
        return source in self._members

    def take(self, record: SourceRecord) -> None:
        """This is what the source is by now; what is in memory of it is not."""
        self._members.pop(record.source, None)
        self._stale.discard(record.source)
        self.sources[record.source] = record

    async def renew(self, source: str) -> int | None:
        """Read a source that is not known here as it is; gives its last durable sequence, None if nothing was read.
        Raises `StoreError`."""
        if not self._store.shared or (source in self.sources and source not in self._stale):
            return None
        found = await self.ask(self._store.some_sources, [source])
        self._members.pop(source, None)
        self._stale.discard(source)
        if not found:
            self.sources.pop(source, None)
            return 0
        self.sources[source] = found[0]
        return found[0].seq

    def end(self, source: str) -> None:
        """A source's process is gone: what it left open counts as lost."""
        member = self._members.get(source)
        if member is not None:
            member.state.end_source(source)

    def use(self, settings: HubSettings) -> None:
        """Use other prices and targets from now on; what is counted stays counted."""
        self._prices, self._targets = settings.price_table(), settings.folding_targets()
        for names in self._names.values():
            names.prices = self._prices
        for member in self._members.values():
            member.use(self._prices, self._targets)

    def forget_idle(self, busy: set[str]) -> list[Member]:
        """Drop quiet sources from memory, but none of `busy`; the store has all of them. Gives those dropped."""
        now_us = self._clock.wall_ns() // 1000
        dropped = []
        for name, member in list(self._members.items()):
            quiet_us = now_us - member.source.seen_us
            if name not in busy and quiet_us > (LOST_US if member.state.running else IDLE_US):
                dropped.append(self._members.pop(name))
        return dropped

    async def load(self) -> None:
        """Read the sources, and fold again, without counting, what ran when the hub ended and what was seen of late.

        Raises `StoreError`.
        """
        self.sources = {record.source: record for record in await self.ask(self._store.sources)}
        await self._know_names()
        now_us = self._clock.wall_ns() // 1000
        firsts = await self._running_sources(now_us)
        for record in sorted(self.sources.values(), key=_seen_us)[-MAX_MEMBERS:]:
            quiet_us = now_us - record.seen_us
            if quiet_us < LATE_US or (record.source in firsts and quiet_us < LOST_US):
                member = self._new_member(record)
                if record.source in firsts:
                    await self._replay(member, firsts[record.source])
                else:
                    await self._bring_back(member)
                self._members[record.source] = member

    async def _running_sources(self, now_us: int) -> dict[str, int]:
        """The first sequence of the earliest turn that runs, by source."""
        firsts: dict[str, int] = {}
        for turn in await self._turns(now_us, "running"):
            seq = await self._first_seq(turn)
            if seq is not None:
                firsts[turn.source] = min(firsts.get(turn.source, seq), seq)
        return firsts

    async def _open_turns(self, now_us: int, status: str, source: SourceRecord) -> dict[str, int]:
        """The first sequence of each turn of a source that has this status, by turn."""
        firsts = {}
        for turn in await self._turns(now_us, status):
            seq = await self._first_seq(turn) if turn.source == source.source else None
            if seq is not None:
                firsts[turn.turn] = seq
        return firsts

    async def _turns(self, now_us: int, status: str) -> list[TurnRecord]:
        """Of the last two days."""
        query = TurnQuery(team=None, since_us=now_us - 2 * DAY_US, until_us=now_us + DAY_US, status=status, limit=1_000)
        return await self.ask(self._store.turns, query)

    async def _first_seq(self, turn: TurnRecord) -> int | None:
        events = await self.ask(turn_events_of, self._store, turn)
        return next((event.seq for event in events if event.source == turn.source), None)

    async def _bring_back(self, member: Member) -> None:
        """Fold again what a source sent before it was dropped; turns that were given up may go on now."""
        now_us = self._clock.wall_ns() // 1000
        given_up = await self._open_turns(now_us, "interrupted", member.source)
        await self._replay(member, min(given_up.values(), default=None))
        member.know_given_up(set(given_up))

    async def _replay(self, member: Member, from_seq: int | None) -> None:
        record = member.source
        days = [day for day in await self.ask(self._store.days) if record.first_day <= day <= record.last_day]
        bodies = await self.ask(self._store.source_events, record.source, days, from_seq)
        damaged: list[bytes] = []
        for start in range(0, len(bodies), SLICE):
            member.replay(list(decoded(bodies[start : start + SLICE], damaged)))
            await asyncio.sleep(0)
        if damaged:
            await self.ask(self._store.tell_damaged, damaged)

    async def _know_names(self) -> None:
        """The names of today and the days about it, so that a new start makes no room for new ones."""
        now_s = self._clock.wall_ns() // 1_000_000_000
        for team in {record.team for record in self.sources.values()}:
            for bucket, dims, _ in await self.ask(self._store.cells, 86_400, now_s - 2 * 86_400, now_s + 86_400, team):
                self._names_of(team, dims.agent).known(day_of(bucket * 1_000_000), dims)

    def _new_member(self, record: SourceRecord) -> Member:
        return Member(record, self._names_of(record.team, record.agent), self._targets, self._cell)

    def _names_of(self, team: str, agent: str) -> Names:
        """Bounded for each identity, so that none makes the names of another `other`."""
        return self._names.setdefault((team, agent), Names(self._prices))


def decoded(bodies: Iterable[bytes], damaged: list[bytes]) -> Iterator[Event]:
    """The events of these bodies; those that are none are added to `damaged`, to be told of."""
    for body in bodies:
        try:
            event = decode_event(body)
        except StateError:
            damaged.append(body)
        else:
            if event is not None:
                yield event


def whole_events(store: Store, bodies: Iterable[bytes]) -> Iterator[Event]:
    """As `decoded`, and the store tells which of its files are damaged. Blocks: for threads that ask the store."""
    damaged: list[bytes] = []
    try:
        yield from decoded(bodies, damaged)
    finally:
        if damaged:
            store.tell_damaged(damaged)


def turn_events_of(store: Store, turn: TurnRecord) -> list[Event]:
    """What names a turn, by source and sequence."""
    return list(whole_events(store, store.events_of([turn.turn], turn.team)))


def _seen_us(record: SourceRecord) -> int:
    return record.seen_us
